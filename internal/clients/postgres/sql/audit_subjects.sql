-- Everybody of whom something is final, as last recorded: how far, and the versions to assume where no row names any. One
-- that was never recorded has no version: its rows are somebody's mistake, which an audit is there to find.
-- One who is asked for is looked up by the key, and of all others one row each: from one Subscription to the next along
-- the key, past the thousands of rows that each of them has.
WITH RECURSIVE final AS (
    (SELECT subscription_uid
       FROM subscription_charges
      WHERE cluster_id = @cluster_id
        AND finalized
        AND (@uid = '' OR subscription_uid = nullif(@uid, '')::uuid)
      ORDER BY subscription_uid
      LIMIT 1)
     UNION ALL
    SELECT (SELECT subscription_uid
              FROM subscription_charges
             WHERE cluster_id = @cluster_id
               AND finalized
               AND (@uid = '' OR subscription_uid = nullif(@uid, '')::uuid)
               AND subscription_uid > final.subscription_uid
             ORDER BY subscription_uid
             LIMIT 1)
      FROM final
     WHERE subscription_uid IS NOT NULL
), charged AS (
    SELECT subscription_uid
      FROM subscription_watermarks
     WHERE cluster_id = @cluster_id
       AND (@uid = '' OR subscription_uid = nullif(@uid, '')::uuid)
     UNION
    SELECT subscription_uid
      FROM final
     WHERE subscription_uid IS NOT NULL
)
SELECT c.subscription_uid::text  AS uid,
       coalesce(s.namespace, '') AS namespace,
       coalesce(s.name, '')      AS name,
       coalesce(s.id, 0)         AS version_id,
       s.activated_at,
       s.deactivated_at,
       coalesce(o.id, 0) AS offering_version_id,
       w.finalized_through
  FROM charged AS c
  LEFT JOIN LATERAL (SELECT id, namespace, name, activated_at, deactivated_at, offering_uid, offering_namespace, offering_name
                       FROM subscriptions
                      WHERE cluster_id = @cluster_id AND uid = c.subscription_uid
                      ORDER BY id DESC
                      LIMIT 1) AS s ON true
  LEFT JOIN LATERAL (SELECT id
                       FROM offerings
                      WHERE cluster_id = @cluster_id
                        AND (uid = s.offering_uid
                             OR (s.offering_uid IS NULL AND namespace = s.offering_namespace AND name = s.offering_name))
                      ORDER BY id DESC
                      LIMIT 1) AS o ON true
  LEFT JOIN subscription_watermarks AS w ON w.cluster_id = @cluster_id AND w.subscription_uid = c.subscription_uid
 ORDER BY c.subscription_uid;
