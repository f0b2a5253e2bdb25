-- How far back and forth anything was collected. Each figure is one end of an index.
SELECT (SELECT min(hour) FROM allocation_hours
         WHERE cluster_id = @cluster_id AND aggregation = @aggregation) AS first,
       greatest(
           (SELECT hour FROM allocation_hours
             WHERE cluster_id = @cluster_id AND aggregation = @aggregation AND state <> 'failed'
             ORDER BY hour DESC LIMIT 1),
           (SELECT max(hour) FROM provider_allocations
             WHERE cluster_id = @cluster_id AND aggregation = @aggregation)) AS last_collected,
       (SELECT min(hour) FROM provider_allocations
         WHERE cluster_id = @cluster_id AND aggregation = @aggregation AND NOT is_finalized) AS earliest_open,
       EXISTS (SELECT FROM provider_allocations
                WHERE cluster_id = @cluster_id AND aggregation = @aggregation) AS measured;
