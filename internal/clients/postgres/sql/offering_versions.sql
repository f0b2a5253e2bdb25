SELECT id, uid::text AS uid, namespace, name, spec, resolved_pricing, deleted_at
  FROM offerings
 WHERE cluster_id = @cluster_id
   AND id = ANY (@ids::bigint[])
 ORDER BY id;
