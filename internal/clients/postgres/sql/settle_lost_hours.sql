-- Hours too old to be fetched again: an empty one counts as measured zero, a failed one is given up, once
-- (OPEN-CJ-25). The prefix is how a later run knows that this was said.
WITH emptied AS (
    UPDATE allocation_hours
       SET state = 'empty', updated_at = @updated_at
     WHERE cluster_id = @cluster_id
       AND aggregation = @aggregation
       AND hour < @oldest
       AND state = 'open'
       AND row_count = 0
), given_up AS (
    UPDATE allocation_hours
       SET last_error = 'given up: ' || coalesce(last_error, ''), updated_at = @updated_at
     WHERE cluster_id = @cluster_id
       AND aggregation = @aggregation
       AND hour < @oldest
       AND state = 'failed'
       AND last_error NOT LIKE 'given up: %'
    RETURNING hour
)
SELECT hour
  FROM given_up
 ORDER BY hour;
