-- The living, and from them upwards every ancestor that is gone. A parent is known by its uid alone: its name may have
-- gone to another, and who takes that one for the parent invents a family.
WITH RECURSIVE newest AS MATERIALIZED (
    SELECT DISTINCT ON (uid) id, uid, namespace, name, content_hash, offering_uid, parent_namespace, parent_name,
           parent_uid, compatibility_root, activated_at, deactivated_at, deleted_at
      FROM subscriptions
     WHERE cluster_id = @cluster_id
     ORDER BY uid, id DESC
), needed AS (
    SELECT id, parent_uid, parent_namespace, parent_name
      FROM newest
     WHERE deleted_at IS NULL
     UNION
    SELECT parent.id, parent.parent_uid, parent.parent_namespace, parent.parent_name
      FROM needed AS child
      JOIN newest AS parent
        ON parent.uid = child.parent_uid
     WHERE parent.deleted_at IS NOT NULL
)
SELECT newest.id,
       newest.uid::text                        AS uid,
       newest.namespace,
       newest.name,
       newest.content_hash,
       coalesce(newest.offering_uid::text, '') AS offering_uid,
       coalesce(newest.parent_namespace, '')   AS parent_namespace,
       coalesce(newest.parent_name, '')        AS parent_name,
       coalesce(newest.parent_uid::text, '')   AS parent_uid,
       coalesce(newest.compatibility_root, '') AS compatibility_root,
       newest.activated_at,
       newest.deactivated_at,
       newest.deleted_at
  FROM newest
  JOIN needed USING (id)
 ORDER BY newest.uid;
