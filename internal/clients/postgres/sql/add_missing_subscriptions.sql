-- Only a uid without any row gets one. Of the others the newest row stands, whatever it says.
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
    SELECT DISTINCT ON (s.uid) s.uid, s.id
      FROM subscriptions AS s
      JOIN given USING (uid)
     WHERE s.cluster_id = @cluster_id
     ORDER BY s.uid, s.id DESC
), written AS (
    INSERT INTO subscriptions (cluster_id, uid, namespace, name, generation, content_hash, spec, labels, annotations,
                               offering_namespace, offering_name, offering_uid, parent_namespace, parent_name, parent_uid,
                               compatibility_root, activated_at, deactivated_at, valid_from)
    SELECT @cluster_id, uid, namespace, name, generation, content_hash, spec, labels, annotations, offering_namespace,
           offering_name, offering_uid, parent_namespace, parent_name, parent_uid, compatibility_root, activated_at,
           deactivated_at, @valid_from
      FROM given
     WHERE uid NOT IN (SELECT uid FROM newest)
     ORDER BY uid
    RETURNING uid, id
)
SELECT uid::text AS uid, id FROM written
 UNION ALL
SELECT uid::text, id FROM newest
 ORDER BY uid;
