-- What is stored of an hour as the answer at hand would be: the columns are those of sql/copy_allocations.sql that may
-- differ within an hour. Rows that are final or priced otherwise are different whatever they say, so they are not even sent.
SELECT namespace, name, alloc_start, alloc_end, pricebook_id, is_finalized, pod, container, controller, controller_kind,
       currency, minutes, cpu_core_usage_avg, ram_bytes_usage_avg, gpu_count, gpu_usage_avg, pv_byte_hours,
       network_transfer_bytes, network_receive_bytes
  FROM provider_allocations
 WHERE cluster_id = @cluster_id
   AND aggregation = @aggregation
   AND hour = @hour
   AND NOT is_finalized
   AND pricebook_id IS NOT DISTINCT FROM @pricebook_id::bigint; -- In no order: the comparison needs none.
