SELECT subscription_uid::text AS uid, finalized_through
  FROM subscription_watermarks
 WHERE cluster_id = @cluster_id
   AND subscription_uid = ANY (@uids::text[]::uuid[])
 ORDER BY subscription_uid;
