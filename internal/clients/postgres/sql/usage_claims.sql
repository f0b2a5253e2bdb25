SELECT hour, meter, measured, unclaimed, unrated
  FROM usage_claims
 WHERE cluster_id = @cluster_id
   AND aggregation = @aggregation
   AND hour = coalesce(@hour::timestamptz, (SELECT max(hour) FROM usage_claims WHERE cluster_id = @cluster_id AND aggregation = @aggregation))
 ORDER BY meter;
