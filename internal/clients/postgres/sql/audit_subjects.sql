-- Everybody of whom something is final, as last recorded: how far, and the versions to assume where no row names any.
-- One who is asked for is looked up by the key.
WITH charged AS (
    SELECT subscription_uid
      FROM subscription_watermarks
     WHERE cluster_id = @cluster_id
       AND (@uid = '' OR subscription_uid = nullif(@uid, '')::uuid)
     UNION
    SELECT subscription_uid
      FROM subscription_charges
     WHERE cluster_id = @cluster_id
       AND finalized
       AND (@uid = '' OR subscription_uid = nullif(@uid, '')::uuid)
)
SELECT s.uid::text AS uid,
       s.namespace,
       s.name,
       s.id AS version_id,
       s.activated_at,
       s.deactivated_at,
       coalesce(o.id, 0) AS offering_version_id,
       w.finalized_through
  FROM charged AS c
 CROSS JOIN LATERAL (SELECT id, uid, namespace, name, activated_at, deactivated_at, offering_uid, offering_namespace, offering_name
                       FROM subscriptions
                      WHERE cluster_id = @cluster_id AND uid = c.subscription_uid
                      ORDER BY id DESC
                      LIMIT 1) AS s
  LEFT JOIN LATERAL (SELECT id
                       FROM offerings
                      WHERE cluster_id = @cluster_id
                        AND (uid = s.offering_uid
                             OR (s.offering_uid IS NULL AND namespace = s.offering_namespace AND name = s.offering_name))
                      ORDER BY id DESC
                      LIMIT 1) AS o ON true
  LEFT JOIN subscription_watermarks AS w ON w.cluster_id = @cluster_id AND w.subscription_uid = c.subscription_uid
 ORDER BY s.uid;
