SELECT subscription_uid::text AS uid,
       window_start,
       charge_source AS source,
       amount_micros,
       quantity,
       unit_price_micros,
       coalesce(currency, '')::text AS currency,
       coalesce(pricebook_id, 0)    AS pricebook_id,
       finalized,
       subscription_version_id,
       offering_version_id,
       details
  FROM subscription_charges
 WHERE cluster_id = @cluster_id
   AND window_start >= @first_window
   AND window_start < @end_window
   AND (finalized OR NOT @only_final)
   AND (@uid = '' OR subscription_uid = nullif(@uid, '')::uuid)
 ORDER BY subscription_uid, window_start, charge_source;
