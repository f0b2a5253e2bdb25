SELECT id, uid::text AS uid, namespace, name, content_hash
  FROM (SELECT DISTINCT ON (uid) id, uid, namespace, name, content_hash, deleted_at
          FROM offerings
         WHERE cluster_id = @cluster_id
         ORDER BY uid, id DESC) AS newest
 WHERE deleted_at IS NULL
 ORDER BY uid;
