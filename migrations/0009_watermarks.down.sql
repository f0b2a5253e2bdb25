DROP TABLE subscription_watermarks;
