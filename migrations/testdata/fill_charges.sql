-- One hour of every Subscription: a fee and two meters.
INSERT INTO subscription_charges (
       window_start, window_end, created_at, updated_at, amount_micros, unit_price_micros, offering_version_id,
       subscription_version_id, pricebook_id, subscription_uid, finalized, cluster_id, charge_source, currency, quantity)
SELECT $1::timestamptz, $1::timestamptz + interval '1 hour', $1::timestamptz + interval '61 minutes', $1::timestamptz + interval '61 minutes', (s.id * 7919) % 10000000, 31000, 1,
       s.id, CASE WHEN source <> 'subscription' THEN 1 END, s.uid, true, 'default', source, 'EUR',
       round(((s.id * 104729) % 10000000)::numeric / 1000000, 6)
  FROM subscriptions AS s
 CROSS JOIN unnest(ARRAY['cpuHour', 'ramGbHour', 'subscription']) AS source
 ORDER BY s.uid, source;
