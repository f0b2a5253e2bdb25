SELECT namespace, name, pod, controller, controller_kind, alloc_start, alloc_end, is_finalized,
       coalesce(pricebook_id, 0) AS pricebook_id,
       cpu_core_usage_avg, gpu_usage_avg, ram_bytes_usage_avg, pv_byte_hours,
       network_transfer_bytes + network_receive_bytes AS network_bytes
  FROM provider_allocations
 WHERE cluster_id = @cluster_id
   AND aggregation = @aggregation
   AND hour = @hour
 ORDER BY namespace, name;
