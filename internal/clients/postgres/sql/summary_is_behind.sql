-- A run that was cut off after its commit has not refreshed the summary, and the next one may have nothing to write.
-- The expressions are those of the view. Only days that a run may write are compared.
WITH wanted AS (
    SELECT day, namespace, controller_kind, controller, row_count,
           round(cpu_core_seconds / 3600, 6)              AS cpu_hours,
           round(gpu_seconds / 3600, 6)                   AS gpu_hours,
           round(ram_byte_seconds / 3600 / 1073741824, 6) AS ram_gib_hours,
           round(pv_byte_hours / 1073741824, 6)           AS pv_gib_hours,
           round(network_bytes / 1073741824, 6)           AS network_gib
      FROM allocation_days
     WHERE cluster_id = @cluster_id
       AND aggregation = @aggregation
       AND day BETWEEN @first_day AND @last_day
), shown AS (
    SELECT day, namespace, controller_kind, controller, row_count, cpu_hours, gpu_hours, ram_gib_hours, pv_gib_hours,
           network_gib
      FROM mv_provider_allocations_summary
     WHERE cluster_id = @cluster_id
       AND aggregation = @aggregation
       AND day BETWEEN @first_day AND @last_day
)
SELECT EXISTS (TABLE wanted EXCEPT TABLE shown)
    OR EXISTS (TABLE shown EXCEPT TABLE wanted) AS behind;
