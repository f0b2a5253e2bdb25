SELECT id, currency::text AS currency, cpu_hour_micros, gpu_hour_micros, ram_gb_hour_micros, pv_gb_hour_micros,
       network_gib_micros
  FROM pricebooks
 WHERE cluster_id = @cluster_id
 ORDER BY id;
