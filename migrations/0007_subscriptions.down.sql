DROP TABLE subscriptions;
