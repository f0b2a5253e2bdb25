-- What a fresh hour adds to its day. Quantities are summed up in units in which that is exact, so the day comes out the
-- same on whatever way it got there. Most workloads of an hour ran for equally long, so the time is multiplied in once for
-- all those that did, not once a row.
INSERT INTO moved_days (cluster_id, aggregation, day, namespace, controller_kind, controller, row_count,
                        cpu_core_seconds, gpu_seconds, ram_byte_seconds, pv_byte_hours, network_bytes)
SELECT @cluster_id,
       @aggregation,
       (@hour::timestamptz AT TIME ZONE 'UTC')::date,
       namespace,
       controller_kind,
       controller,
       count(*),
       sum(cpu_core_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
       sum(gpu_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
       sum(ram_bytes_usage_avg) * extract(epoch FROM alloc_end - alloc_start),
       sum(pv_byte_hours),
       sum(network_transfer_bytes) + sum(network_receive_bytes)
  FROM provider_allocations
 WHERE cluster_id = @cluster_id
   AND aggregation = @aggregation
   AND hour = @hour
 GROUP BY namespace, controller_kind, controller, alloc_end - alloc_start;
