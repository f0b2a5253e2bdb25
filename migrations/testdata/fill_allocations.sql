-- One hour of 5,000 containers with names as they look in a cluster, in the order in which OpenCost's answer comes.
INSERT INTO provider_allocations (
       hour, alloc_start, alloc_end, collected_at, pricebook_id, currency, is_finalized, cluster_id, aggregation, namespace,
       name, pod, container, controller, controller_kind, minutes, cpu_core_usage_avg, ram_bytes_usage_avg, gpu_count,
       gpu_usage_avg, pv_byte_hours, network_transfer_bytes, network_receive_bytes)
SELECT $1::timestamptz, $1::timestamptz, $1::timestamptz + interval '1 hour', $1::timestamptz + interval '61 minutes', 1, 'EUR', true, 'default', 'namespace,pod,container',
       w.namespace, w.namespace || '/' || w.pod || '/' || w.container, w.pod, w.container, w.controller, 'deployment', 60,
       round(((w.n * 7919) % 200000)::numeric / 100000, 5), (w.n * 104729) % 2000000000, 0, 0,
       CASE WHEN w.n % 10 = 0 THEN 10737418240 ELSE 0 END, (w.n * 15485863) % 100000000, (w.n * 32452843) % 100000000
  FROM (SELECT n,
               'team-' || n % 60                                                                 AS namespace,
               'service-' || n / 3                                                               AS controller,
               'service-' || n / 3 || '-' || left(md5(n::text), 10) || '-' || left(md5('p' || n), 5) AS pod,
               (ARRAY['server', 'sidecar', 'istio-proxy'])[1 + n % 3]                            AS container
          FROM generate_series(1::bigint, 5000) AS n) AS w
 ORDER BY w.namespace, w.pod, w.container;
