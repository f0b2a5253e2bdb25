WITH by_uid AS (
    SELECT DISTINCT ON (uid) id
      FROM offerings
     WHERE cluster_id = @cluster_id
       AND uid = ANY (@uids::text[]::uuid[])
     ORDER BY uid, id DESC
), by_name AS (
    SELECT DISTINCT ON (o.namespace, o.name) o.id
      FROM offerings AS o
      JOIN unnest(@namespaces::text[], @names::text[]) AS asked (namespace, name) USING (namespace, name)
     WHERE o.cluster_id = @cluster_id
     ORDER BY o.namespace, o.name, o.id DESC
)
SELECT id, uid::text AS uid, namespace, name, spec, resolved_pricing, deleted_at
  FROM offerings
 WHERE cluster_id = @cluster_id
   AND id IN (SELECT id FROM by_uid UNION SELECT id FROM by_name)
 ORDER BY id;
