-- A changed book becomes a new row, so that rows keep the rates they were collected under (OPEN-DB-4).
INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, cpu_hour_micros, spot_cpu_hour_micros,
                        ram_gb_hour_micros, spot_ram_gb_hour_micros, pv_gb_hour_micros, gpu_hour_micros,
                        network_gib_micros, content_hash, first_seen_at)
VALUES (@cluster_id, @namespace, @name, @uid, @generation, @currency, @cpu_hour_micros, @spot_cpu_hour_micros,
        @ram_gb_hour_micros, @spot_ram_gb_hour_micros, @pv_gb_hour_micros, @gpu_hour_micros,
        @network_gib_micros, @content_hash, @first_seen_at)
RETURNING id;
