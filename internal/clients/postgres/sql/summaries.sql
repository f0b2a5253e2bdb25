-- All three buckets of all Subscriptions, or of one, in one pass over the month. Sums are NUMERIC, so one that does not fit an
-- amount is one Subscription's trouble and not that of the statement.
SELECT subscription_uid::text AS uid,
       charge_source AS source,
       coalesce(sum(amount_micros) FILTER (WHERE window_start >= @hour_start AND window_start < @hour_end), 0) AS hour,
       coalesce(sum(amount_micros) FILTER (WHERE window_start >= @day_start AND window_start < @day_end), 0)   AS day,
       sum(amount_micros)                AS month,
       coalesce(min(currency), '')::text AS first_currency,
       coalesce(max(currency), '')::text AS last_currency,
       count(*) > count(currency)        AS some_without_currency
  FROM subscription_charges
 WHERE cluster_id = @cluster_id
   AND (@uid::text = '' OR subscription_uid = nullif(@uid::text, '')::uuid)
   AND window_start >= @month_start
   AND window_start < @month_end
 GROUP BY subscription_uid, charge_source
 ORDER BY subscription_uid, charge_source;
