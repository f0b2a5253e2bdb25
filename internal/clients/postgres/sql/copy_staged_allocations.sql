COPY pg_temp.staged_allocations (
    collected_at, cluster_id, aggregation, hour, namespace, name, alloc_start, alloc_end, pricebook_id, is_finalized,
    pod, container, controller, controller_kind, currency, minutes, cpu_core_usage_avg, ram_bytes_usage_avg,
    gpu_count, gpu_usage_avg, pv_byte_hours, network_transfer_bytes, network_receive_bytes)
FROM STDIN (FORMAT binary)
