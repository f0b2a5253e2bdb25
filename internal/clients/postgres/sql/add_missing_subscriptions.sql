-- A uid without any row gets one, and so does one whose newest row tells another life or other usage sources than it is
-- charged by: whoever computes a charge again reads them in the version that the charge names. Else the newest row
-- stands, whatever it says.
WITH given AS (
    SELECT DISTINCT ON (uid)
           uid, namespace, name, generation, content_hash, spec, labels, annotations, offering_namespace, offering_name,
           offering_uid, parent_namespace, parent_name, parent_uid, compatibility_root, activated_at, deactivated_at
      FROM staged_subscriptions
     CROSS JOIN LATERAL jsonb_to_record(object) AS field (
           uid uuid, namespace text, name text, generation bigint, content_hash text, spec jsonb, labels jsonb,
           annotations jsonb, offering_namespace text, offering_name text, offering_uid uuid, parent_namespace text,
           parent_name text, parent_uid uuid, compatibility_root text, activated_at timestamptz,
           deactivated_at timestamptz)
     ORDER BY uid
), newest AS (
    SELECT DISTINCT ON (s.uid)
           s.uid, s.id, s.spec, s.offering_uid, s.parent_uid, s.activated_at, s.deactivated_at, s.namespace_labels,
           s.deleted_at, s.valid_from
      FROM subscriptions AS s
      JOIN given USING (uid)
     WHERE s.cluster_id = @cluster_id
     ORDER BY s.uid, s.id DESC
), written AS (
    INSERT INTO subscriptions (cluster_id, uid, namespace, name, generation, content_hash, spec, labels, annotations,
                               offering_namespace, offering_name, offering_uid, parent_namespace, parent_name, parent_uid,
                               compatibility_root, activated_at, deactivated_at, namespace_labels, deleted_at, valid_from)
    SELECT @cluster_id, g.uid, g.namespace, g.name, g.generation, g.content_hash, g.spec, g.labels, g.annotations,
           g.offering_namespace, g.offering_name,
           -- What was sold stays what was sold (BETTER-OFF-5). While it waited nothing was.
           coalesce(CASE WHEN n.activated_at IS NOT NULL THEN n.offering_uid END, g.offering_uid, n.offering_uid),
           g.parent_namespace, g.parent_name, coalesce(n.parent_uid, g.parent_uid), g.compatibility_root, g.activated_at,
           g.deactivated_at, n.namespace_labels,
           n.deleted_at,                                                   -- A uid that is gone does not come back.
           greatest(@valid_from, n.valid_from + interval '1 microsecond') -- Versions follow each other.
      FROM given AS g
      LEFT JOIN newest AS n USING (uid)
     WHERE n.uid IS NULL
        OR (n.activated_at, n.deactivated_at, coalesce(n.spec -> 'usageSources', '[]'))
           IS DISTINCT FROM
           (g.activated_at, g.deactivated_at, coalesce(g.spec -> 'usageSources', '[]'))
     ORDER BY g.uid
    RETURNING uid, id
)
SELECT uid::text AS uid, id
  FROM written
 UNION ALL
SELECT uid::text, id
  FROM newest
 WHERE NOT EXISTS (SELECT FROM written WHERE written.uid = newest.uid)
 ORDER BY uid;
