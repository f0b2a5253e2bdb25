-- A finalized charge is history, and an equal one is not worth a write: rows that stand as they are never reach the
-- INSERT, which would lock them.
INSERT INTO subscription_charges AS c (
       cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros, quantity, unit_price_micros,
       currency, finalized, offering_version_id, subscription_version_id, pricebook_id, details, created_at, updated_at)
SELECT @cluster_id, s.subscription_uid, s.window_start, s.window_start + interval '1 hour', s.charge_source,
       s.amount_micros, s.quantity, s.unit_price_micros, s.currency, s.finalized, s.offering_version_id,
       s.subscription_version_id, s.pricebook_id, s.details, @now, @now
  FROM staged_charges AS s
  LEFT JOIN subscription_charges AS old
    ON old.cluster_id = @cluster_id
   AND old.subscription_uid = s.subscription_uid
   AND old.window_start = s.window_start
   AND old.charge_source = s.charge_source
   AND old.window_start >= @first_window
   AND old.window_start < @end_window
 WHERE old.cluster_id IS NULL
    OR (NOT old.finalized
        AND (old.amount_micros, old.quantity, old.unit_price_micros, old.currency, old.finalized,
             old.offering_version_id, old.subscription_version_id, old.pricebook_id, old.details)
            IS DISTINCT FROM
            (s.amount_micros, s.quantity, s.unit_price_micros, s.currency, s.finalized,
             s.offering_version_id, s.subscription_version_id, s.pricebook_id, s.details))
 ORDER BY s.subscription_uid, s.window_start, s.charge_source -- Two runs lock in one order.
ON CONFLICT (cluster_id, subscription_uid, window_start, charge_source) DO UPDATE
   SET amount_micros = excluded.amount_micros,
       quantity = excluded.quantity,
       unit_price_micros = excluded.unit_price_micros,
       currency = excluded.currency,
       finalized = excluded.finalized,
       offering_version_id = excluded.offering_version_id,
       subscription_version_id = excluded.subscription_version_id,
       pricebook_id = excluded.pricebook_id,
       details = excluded.details,
       updated_at = excluded.updated_at
 WHERE NOT c.finalized;
