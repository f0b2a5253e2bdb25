-- Rows that are final and that the new answer tells otherwise, or not at all.
SELECT count(*)
  FROM provider_allocations AS a
  LEFT JOIN staged_allocations AS s
    ON s.namespace = a.namespace
   AND s.name = a.name
 WHERE a.cluster_id = @cluster_id
   AND a.aggregation = @aggregation
   AND a.hour = @hour
   AND a.is_finalized
   AND (a.alloc_start, a.alloc_end, a.minutes, a.cpu_core_usage_avg, a.ram_bytes_usage_avg, a.gpu_count, a.gpu_usage_avg,
        a.pv_byte_hours, a.network_transfer_bytes, a.network_receive_bytes)
       IS DISTINCT FROM
       (s.alloc_start, s.alloc_end, s.minutes, s.cpu_core_usage_avg, s.ram_bytes_usage_avg, s.gpu_count, s.gpu_usage_avg,
        s.pv_byte_hours, s.network_transfer_bytes, s.network_receive_bytes);
