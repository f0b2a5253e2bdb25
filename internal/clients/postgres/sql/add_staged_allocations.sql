-- What is stored by now is equal or final; the rest is new, and counts for its day.
WITH added AS (
    INSERT INTO provider_allocations (
           cluster_id, aggregation, hour, namespace, name, alloc_start, alloc_end, collected_at, pricebook_id, is_finalized,
           pod, container, controller, controller_kind, currency, minutes, cpu_core_usage_avg, ram_bytes_usage_avg,
           gpu_count, gpu_usage_avg, pv_byte_hours, network_transfer_bytes, network_receive_bytes)
    SELECT cluster_id, aggregation, hour, namespace, name, alloc_start, alloc_end, collected_at, pricebook_id, is_finalized,
           pod, container, controller, controller_kind, currency, minutes, cpu_core_usage_avg, ram_bytes_usage_avg,
           gpu_count, gpu_usage_avg, pv_byte_hours, network_transfer_bytes, network_receive_bytes
      FROM staged_allocations AS s
     WHERE NOT EXISTS (
           SELECT
             FROM provider_allocations AS a
            WHERE a.cluster_id = @cluster_id
              AND a.aggregation = @aggregation
              AND a.hour = @hour
              AND a.namespace = s.namespace
              AND a.name = s.name)
     ORDER BY s.namespace, s.name
    RETURNING cluster_id, aggregation, hour, namespace, controller_kind, controller, alloc_start, alloc_end,
              cpu_core_usage_avg, gpu_usage_avg, ram_bytes_usage_avg, pv_byte_hours, network_transfer_bytes, network_receive_bytes
), moved AS (
    INSERT INTO moved_days (cluster_id, aggregation, day, namespace, controller_kind, controller, row_count,
                            cpu_core_seconds, gpu_seconds, ram_byte_seconds, pv_byte_hours, network_bytes)
    SELECT cluster_id,
           aggregation,
           (hour AT TIME ZONE 'UTC')::date,
           namespace,
           controller_kind,
           controller,
           count(*),
           sum(cpu_core_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
           sum(gpu_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
           sum(ram_bytes_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
           sum(pv_byte_hours),
           sum(network_transfer_bytes) + sum(network_receive_bytes)
      FROM added
     GROUP BY cluster_id, aggregation, hour, namespace, controller_kind, controller, alloc_end - alloc_start
)
SELECT count(*)
  FROM added;
