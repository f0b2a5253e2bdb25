-- Content that equals the newest row of its uid is stored already, and costs no write at all.
WITH given AS (
    SELECT uid, namespace, name, generation, content_hash, spec, resolved_pricing, labels, annotations
      FROM jsonb_to_recordset(@objects::jsonb) AS object (
           uid uuid, namespace text, name text, generation bigint, content_hash text, spec jsonb,
           resolved_pricing jsonb, labels jsonb, annotations jsonb)
), newest AS (
    -- One look into the index each. A join is planned while the table is small, and reads all of it when it no longer is.
    SELECT last.*
      FROM (SELECT DISTINCT uid FROM given) AS asked
     CROSS JOIN LATERAL (SELECT o.uid, o.id, o.content_hash, o.valid_from, o.deleted_at
                           FROM offerings AS o
                          WHERE o.cluster_id = @cluster_id
                            AND o.uid = asked.uid
                          ORDER BY o.id DESC
                          LIMIT 1) AS last
), written AS (
    INSERT INTO offerings (cluster_id, uid, namespace, name, generation, content_hash, spec, resolved_pricing, labels,
                           annotations, deleted_at, valid_from)
    SELECT @cluster_id, given.uid, given.namespace, given.name, given.generation, given.content_hash, given.spec,
           given.resolved_pricing, given.labels, given.annotations,
           newest.deleted_at, -- A uid that is gone does not come back.
           greatest(@valid_from, newest.valid_from + interval '1 microsecond') -- Versions follow each other.
      FROM given
      LEFT JOIN newest USING (uid)
     WHERE newest.uid IS NULL
        OR (NOT @only_missing AND newest.content_hash <> given.content_hash)
     ORDER BY given.uid
    RETURNING uid, id, content_hash
)
SELECT uid::text AS uid, id, content_hash, true AS new
  FROM written
 UNION ALL
SELECT uid::text, id, content_hash, false
  FROM newest
 WHERE NOT EXISTS (SELECT FROM written WHERE written.uid = newest.uid)
 ORDER BY uid;
