DROP TABLE subscription_charges;
