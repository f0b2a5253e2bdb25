-- The newest row of an object says that it is gone. The first time it was said stands.
UPDATE offerings
   SET deleted_at = @deleted_at
 WHERE cluster_id = @cluster_id
   AND deleted_at IS NULL
   AND id IN (SELECT max(newest.id)
                FROM offerings AS newest
               WHERE newest.cluster_id = @cluster_id
                 AND newest.uid = ANY (@uids::text[]::uuid[])
               GROUP BY newest.uid);
