-- Of an hour that is not final, whatever the new answer does not hold exactly as it is stored goes: workloads that are
-- no longer reported (OPEN-CJ-7) and rows that are about to be replaced. Equal rows stay, so a replay writes nothing.
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
               a.gpu_usage_avg, a.pv_byte_hours, a.network_transfer_bytes, a.network_receive_bytes));
