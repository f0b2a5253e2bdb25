-- Content that equals the newest row of its uid is stored already, and costs no write at all.
WITH given AS (
    SELECT uid, namespace, name, generation, content_hash, spec, labels, annotations, offering_namespace, offering_name,
           offering_uid, parent_namespace, parent_name, parent_uid, compatibility_root, activated_at, deactivated_at,
           namespace_labels
      FROM jsonb_to_recordset(@objects::jsonb) AS object (
           uid uuid, namespace text, name text, generation bigint, content_hash text, spec jsonb, labels jsonb,
           annotations jsonb, offering_namespace text, offering_name text, offering_uid uuid, parent_namespace text,
           parent_name text, parent_uid uuid, compatibility_root text, activated_at timestamptz,
           deactivated_at timestamptz, namespace_labels jsonb)
), newest AS (
    -- One look into the index each. A join is planned while the table is small, and reads all of it when it no longer is.
    SELECT last.*
      FROM (SELECT DISTINCT uid FROM given) AS asked
     CROSS JOIN LATERAL (SELECT s.uid, s.id, s.content_hash, s.valid_from, s.deleted_at,
                                s.activated_at, s.deactivated_at
                           FROM subscriptions AS s
                          WHERE s.cluster_id = @cluster_id
                            AND s.uid = asked.uid
                          ORDER BY s.id DESC
                          LIMIT 1) AS last
), written AS (
    INSERT INTO subscriptions (cluster_id, uid, namespace, name, generation, content_hash, spec, labels, annotations,
                               offering_namespace, offering_name, offering_uid, parent_namespace, parent_name, parent_uid,
                               compatibility_root, activated_at, deactivated_at, namespace_labels, deleted_at, valid_from)
    SELECT @cluster_id, given.uid, given.namespace, given.name, given.generation, given.content_hash, given.spec,
           given.labels, given.annotations, given.offering_namespace, given.offering_name, given.offering_uid,
           given.parent_namespace, given.parent_name, given.parent_uid, given.compatibility_root,
           coalesce(newest.activated_at, given.activated_at), -- What was recorded of a life stays true.
           coalesce(newest.deactivated_at, given.deactivated_at),
           given.namespace_labels,
           newest.deleted_at, -- A uid that is gone does not come back.
           greatest(@valid_from, newest.valid_from + interval '1 microsecond') -- Versions follow each other.
      FROM given
      LEFT JOIN newest USING (uid)
     WHERE newest.uid IS NULL
        OR (NOT @only_missing AND newest.content_hash <> given.content_hash)
     ORDER BY given.uid
    RETURNING uid, id, content_hash, activated_at, deactivated_at
)
SELECT uid::text AS uid, id, content_hash, activated_at, deactivated_at, true AS new
  FROM written
 UNION ALL
SELECT uid::text, id, content_hash, activated_at, deactivated_at, false
  FROM newest
 WHERE NOT EXISTS (SELECT FROM written WHERE written.uid = newest.uid)
 ORDER BY uid;
