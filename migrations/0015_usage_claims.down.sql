DROP TABLE usage_claims;
