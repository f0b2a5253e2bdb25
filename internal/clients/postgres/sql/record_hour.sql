-- An entry that says the same already is not written again; a failure is always news. Attempts count the failures.
INSERT INTO allocation_hours AS l (cluster_id, aggregation, hour, state, row_count, attempts, last_error, late_changes,
                                   updated_at)
SELECT @cluster_id::text, @aggregation::text, @hour::timestamptz, @state::text, stored.row_count, @failures::integer,
       @last_error::text, @late_changes::bigint, @updated_at::timestamptz
  FROM (SELECT count(*) AS row_count
          FROM provider_allocations
         WHERE cluster_id = @cluster_id::text AND aggregation = @aggregation::text AND hour = @hour::timestamptz) AS stored
 WHERE @failures::integer > 0
    OR NOT EXISTS (
       SELECT
         FROM allocation_hours AS known
        WHERE known.cluster_id = @cluster_id::text
          AND known.aggregation = @aggregation::text
          AND known.hour = @hour::timestamptz
          AND known.late_changes >= @late_changes::bigint
          AND (known.state, known.row_count, known.last_error)
              IS NOT DISTINCT FROM (@state::text, stored.row_count, @last_error::text))
ON CONFLICT (cluster_id, aggregation, hour) DO UPDATE
   SET state = excluded.state,
       row_count = excluded.row_count,
       attempts = l.attempts + excluded.attempts,
       last_error = excluded.last_error,
       late_changes = greatest(l.late_changes, excluded.late_changes),
       updated_at = excluded.updated_at;
