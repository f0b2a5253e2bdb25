-- Daily consumption in the units of the meters, for showback. It reads the roll-up and never the hours, so a refresh
-- costs what the roll-up holds (OPEN-DB-3). Rounded for reading: nothing is billed from here.
CREATE MATERIALIZED VIEW mv_provider_allocations_summary AS
SELECT cluster_id,
       aggregation,
       day,
       namespace,
       controller_kind,
       controller,
       row_count,
       round(cpu_core_seconds / 3600, 6)              AS cpu_hours,
       round(gpu_seconds / 3600, 6)                   AS gpu_hours,
       round(ram_byte_seconds / 3600 / 1073741824, 6) AS ram_gib_hours,
       round(pv_byte_hours / 1073741824, 6)           AS pv_gib_hours,
       round(network_bytes / 1073741824, 6)           AS network_gib
  FROM allocation_days;

-- REFRESH ... CONCURRENTLY asks for a unique index over all rows.
CREATE UNIQUE INDEX mv_provider_allocations_summary_key
    ON mv_provider_allocations_summary (cluster_id, aggregation, day, namespace, controller_kind, controller);
