-- What was counted once stands: it says what was claimed when the hour became final.
INSERT INTO usage_claims (hour, counted_at, cluster_id, aggregation, meter, measured, unclaimed, unrated)
SELECT hour, @at, @cluster_id, @aggregation, meter, measured, unclaimed, unrated
  FROM unnest(@hours::timestamptz[], @meters::text[], @measured::numeric[], @unclaimed::numeric[], @unrated::numeric[])
       AS c (hour, meter, measured, unclaimed, unrated)
 ORDER BY hour, meter
ON CONFLICT (cluster_id, aggregation, hour, meter) DO NOTHING;
