-- What a fresh hour adds to its day. Quantities are summed up in units in which that is exact, so the day comes out the
-- same on whatever way it got there.
INSERT INTO moved_days (cluster_id, aggregation, day, namespace, controller_kind, controller, row_count,
                        cpu_core_seconds, gpu_seconds, ram_byte_seconds, pv_byte_hours, network_bytes)
SELECT cluster_id,
       aggregation,
       (hour AT TIME ZONE 'UTC')::date,
       namespace,
       controller_kind,
       controller,
       count(*),
       sum(cpu_core_usage_avg * seconds),
       sum(gpu_usage_avg * seconds),
       sum(ram_bytes_usage_avg * seconds),
       sum(pv_byte_hours),
       sum(network_transfer_bytes + network_receive_bytes)
  FROM (SELECT cluster_id, aggregation, hour, namespace, controller_kind, controller, cpu_core_usage_avg, gpu_usage_avg,
               ram_bytes_usage_avg, pv_byte_hours, network_transfer_bytes, network_receive_bytes,
               extract(epoch FROM alloc_end - alloc_start) AS seconds
          FROM provider_allocations
         WHERE cluster_id = @cluster_id
           AND aggregation = @aggregation
           AND hour = @hour
        OFFSET 0) AS a -- Computed once a row, not once for each use.
 GROUP BY cluster_id, aggregation, hour, namespace, controller_kind, controller;
