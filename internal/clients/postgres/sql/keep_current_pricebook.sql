-- Written only when a book begins to say something else, or something again.
INSERT INTO current_pricebooks AS c (pricebook_id, since, uid, cluster_id)
SELECT @pricebook_id::bigint, @since::timestamptz, @uid::uuid, @cluster_id::text
 WHERE NOT EXISTS (
       SELECT
         FROM current_pricebooks AS known
        WHERE known.cluster_id = @cluster_id::text
          AND known.uid = @uid::uuid
          AND known.pricebook_id = @pricebook_id::bigint)
ON CONFLICT (cluster_id, uid) DO UPDATE
   SET pricebook_id = excluded.pricebook_id,
       since = excluded.since;
