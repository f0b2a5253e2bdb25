-- The hours of a span that something is known about. Rows are looked for by key, one probe each.
SELECT h.hour,
       coalesce(l.state, '') AS state,
       EXISTS (SELECT FROM provider_allocations AS a
                WHERE a.cluster_id = @cluster_id AND a.aggregation = @aggregation AND a.hour = h.hour
                  AND NOT a.is_finalized) AS has_open,
       EXISTS (SELECT FROM provider_allocations AS a
                WHERE a.cluster_id = @cluster_id AND a.aggregation = @aggregation AND a.hour = h.hour
                  AND a.is_finalized) AS has_final
  FROM generate_series(@first_hour::timestamptz, @last_hour::timestamptz, interval '1 hour') AS h (hour)
  LEFT JOIN allocation_hours AS l
    ON l.cluster_id = @cluster_id AND l.aggregation = @aggregation AND l.hour = h.hour
 ORDER BY h.hour;
