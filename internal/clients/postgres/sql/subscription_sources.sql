SELECT id, coalesce(spec -> 'usageSources', '[]') AS usage_sources
  FROM subscriptions
 WHERE cluster_id = @cluster_id
   AND id = ANY (@ids::bigint[])
 ORDER BY id;
