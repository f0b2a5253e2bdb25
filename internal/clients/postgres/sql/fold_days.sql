-- Moves what has changed into the roll-up. A workload without any row left goes; what adds up to nothing is not
-- touched. Scales are trimmed, so equal sums look equal however they were added up.
WITH moved AS (
    SELECT cluster_id, aggregation, day, namespace, controller_kind, controller,
           sum(row_count)        AS row_count,
           sum(cpu_core_seconds) AS cpu_core_seconds,
           sum(gpu_seconds)      AS gpu_seconds,
           sum(ram_byte_seconds) AS ram_byte_seconds,
           sum(pv_byte_hours)    AS pv_byte_hours,
           sum(network_bytes)    AS network_bytes
      FROM moved_days
     GROUP BY cluster_id, aggregation, day, namespace, controller_kind, controller
), result AS (
    SELECT cluster_id, aggregation, day, namespace, controller_kind, controller,
           m.row_count + coalesce(d.row_count, 0)                           AS row_count,
           trim_scale(m.cpu_core_seconds + coalesce(d.cpu_core_seconds, 0)) AS cpu_core_seconds,
           trim_scale(m.gpu_seconds + coalesce(d.gpu_seconds, 0))           AS gpu_seconds,
           trim_scale(m.ram_byte_seconds + coalesce(d.ram_byte_seconds, 0)) AS ram_byte_seconds,
           trim_scale(m.pv_byte_hours + coalesce(d.pv_byte_hours, 0))       AS pv_byte_hours,
           trim_scale(m.network_bytes + coalesce(d.network_bytes, 0))       AS network_bytes
      FROM moved AS m
      LEFT JOIN allocation_days AS d USING (cluster_id, aggregation, day, namespace, controller_kind, controller)
     WHERE (m.row_count, m.cpu_core_seconds, m.gpu_seconds, m.ram_byte_seconds, m.pv_byte_hours, m.network_bytes)
           <> (0, 0, 0, 0, 0, 0)
), gone AS (
    DELETE FROM allocation_days AS d
     USING result AS r
     WHERE r.row_count = 0
       AND (d.cluster_id, d.aggregation, d.day, d.namespace, d.controller_kind, d.controller)
           = (r.cluster_id, r.aggregation, r.day, r.namespace, r.controller_kind, r.controller)
)
INSERT INTO allocation_days (cluster_id, aggregation, day, namespace, controller_kind, controller, row_count,
                             cpu_core_seconds, gpu_seconds, ram_byte_seconds, pv_byte_hours, network_bytes)
SELECT cluster_id, aggregation, day, namespace, controller_kind, controller, row_count,
       cpu_core_seconds, gpu_seconds, ram_byte_seconds, pv_byte_hours, network_bytes
  FROM result
 WHERE row_count > 0
 ORDER BY cluster_id, aggregation, day, namespace, controller_kind, controller
ON CONFLICT (cluster_id, aggregation, day, namespace, controller_kind, controller) DO UPDATE
   SET row_count = excluded.row_count,
       cpu_core_seconds = excluded.cpu_core_seconds,
       gpu_seconds = excluded.gpu_seconds,
       ram_byte_seconds = excluded.ram_byte_seconds,
       pv_byte_hours = excluded.pv_byte_hours,
       network_bytes = excluded.network_bytes;
