SELECT max(hour) FROM usage_claims WHERE cluster_id = @cluster_id AND aggregation = @aggregation;
