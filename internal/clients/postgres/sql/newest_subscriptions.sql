SELECT DISTINCT ON (uid) uid::text AS uid, id, coalesce(offering_uid::text, '') AS offering_uid, activated_at, deactivated_at,
       deleted_at IS NOT NULL AS gone, coalesce(spec -> 'usageSources', '[]') AS usage_sources
  FROM subscriptions
 WHERE cluster_id = @cluster_id
   AND uid = ANY (@uids::text[]::uuid[])
 ORDER BY uid, id DESC;
