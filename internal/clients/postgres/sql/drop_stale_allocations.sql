-- Of an hour that is not final, whatever the new answer does not hold exactly as it is stored goes: workloads that are
-- no longer reported (OPEN-CJ-7) and rows that are about to be replaced. Equal rows stay, so a replay writes nothing. What
-- goes counts against its day.
WITH dropped AS (
    DELETE FROM provider_allocations AS a
     WHERE a.cluster_id = @cluster_id
       AND a.aggregation = @aggregation
       AND a.hour = @hour
       AND NOT a.is_finalized
       AND NOT EXISTS (
           SELECT
             FROM staged_allocations AS s
            WHERE s.namespace = a.namespace
              AND s.name = a.name
              AND (s.alloc_start, s.alloc_end, s.pricebook_id, s.is_finalized, s.pod, s.container, s.controller,
                   s.controller_kind, s.currency, s.minutes, s.cpu_core_usage_avg, s.ram_bytes_usage_avg, s.gpu_count,
                   s.gpu_usage_avg, s.pv_byte_hours, s.network_transfer_bytes, s.network_receive_bytes)
                  IS NOT DISTINCT FROM
                  (a.alloc_start, a.alloc_end, a.pricebook_id, a.is_finalized, a.pod, a.container, a.controller,
                   a.controller_kind, a.currency, a.minutes, a.cpu_core_usage_avg, a.ram_bytes_usage_avg, a.gpu_count,
                   a.gpu_usage_avg, a.pv_byte_hours, a.network_transfer_bytes, a.network_receive_bytes))
    RETURNING a.cluster_id, a.aggregation, a.hour, a.namespace, a.controller_kind, a.controller, a.alloc_start, a.alloc_end,
              a.cpu_core_usage_avg, a.gpu_usage_avg, a.ram_bytes_usage_avg, a.pv_byte_hours, a.network_transfer_bytes, a.network_receive_bytes
), moved AS (
    INSERT INTO moved_days (cluster_id, aggregation, day, namespace, controller_kind, controller, row_count,
                            cpu_core_seconds, gpu_seconds, ram_byte_seconds, pv_byte_hours, network_bytes)
    SELECT cluster_id,
           aggregation,
           (hour AT TIME ZONE 'UTC')::date,
           namespace,
           controller_kind,
           controller,
           -count(*),
           -sum(cpu_core_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
           -sum(gpu_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
           -sum(ram_bytes_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
           -sum(pv_byte_hours),
           -sum(network_transfer_bytes) - sum(network_receive_bytes)
      FROM dropped
     GROUP BY cluster_id, aggregation, hour, namespace, controller_kind, controller, alloc_end - alloc_start
)
SELECT count(*)
  FROM dropped;
