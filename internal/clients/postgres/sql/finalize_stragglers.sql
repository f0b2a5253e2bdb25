-- Rows that no run fetches again are as good as they get. Those of another aggregation are somebody else's until they
-- are too old to be fetched. An hour whose fetch has failed in the end keeps its state.
WITH finalized AS (
    UPDATE provider_allocations AS a
       SET is_finalized = true
     WHERE a.cluster_id = @cluster_id
       AND NOT a.is_finalized
       AND (a.aggregation = @aggregation AND a.hour < @pinned AND a.hour <> ALL (@spared::timestamptz[])
            OR a.aggregation <> @aggregation AND a.hour < @oldest)
    RETURNING a.aggregation, a.hour
), hours AS (
    SELECT aggregation, hour, count(*) AS row_count
      FROM finalized
     GROUP BY aggregation, hour
), settled AS (
    UPDATE allocation_hours AS l
       SET state = 'final', updated_at = @updated_at
      FROM hours AS h
     WHERE l.cluster_id = @cluster_id
       AND l.aggregation = h.aggregation
       AND l.hour = h.hour
       AND l.state = 'open'
)
SELECT coalesce(sum(row_count), 0)::bigint AS row_count
  FROM hours;
