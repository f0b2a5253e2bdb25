-- A watermark only ever rises.
INSERT INTO subscription_watermarks AS w (cluster_id, subscription_uid, finalized_through, updated_at)
SELECT @cluster_id, subscription_uid, finalized_through, @now
  FROM staged_windows
 WHERE finalized_through IS NOT NULL
   AND NOT EXISTS (SELECT
                     FROM subscription_watermarks AS old
                    WHERE old.cluster_id = @cluster_id
                      AND old.subscription_uid = staged_windows.subscription_uid
                      AND old.finalized_through >= staged_windows.finalized_through)
 ORDER BY subscription_uid
ON CONFLICT (cluster_id, subscription_uid) DO UPDATE
   SET finalized_through = excluded.finalized_through,
       updated_at = excluded.updated_at
 WHERE w.finalized_through < excluded.finalized_through;
