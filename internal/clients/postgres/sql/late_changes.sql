SELECT coalesce(sum(late_changes), 0)::bigint
  FROM allocation_hours
 WHERE cluster_id = @cluster_id AND aggregation = @aggregation;
