-- An open row that the run did not compute again has nothing behind it any more: its usage is gone, or the life ended
-- before its hour. Subscriptions that were left out of the batch have no window here, and keep what they have.
DELETE FROM subscription_charges AS c
 USING staged_windows AS w
 WHERE c.cluster_id = @cluster_id
   AND c.subscription_uid = w.subscription_uid
   AND c.window_start >= w.first_window
   AND c.window_start >= @first_window
   AND c.window_start < @end_window
   AND NOT c.finalized
   AND NOT EXISTS (SELECT
                     FROM staged_charges AS s
                    WHERE s.subscription_uid = c.subscription_uid
                      AND s.window_start = c.window_start
                      AND s.charge_source = c.charge_source);
