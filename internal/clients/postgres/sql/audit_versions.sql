-- Where the final rows of a Subscription begin to name other versions than those before them.
SELECT uid, first_window, subscription_version_id, offering_version_id
  FROM (SELECT subscription_uid::text AS uid,
               window_start AS first_window,
               subscription_version_id,
               offering_version_id,
               lag(subscription_version_id) OVER earlier AS before_subscription,
               lag(offering_version_id) OVER earlier     AS before_offering
          FROM subscription_charges
         WHERE cluster_id = @cluster_id
           AND window_start >= @first_window
           AND window_start < @end_window
           AND finalized
           AND (@uid = '' OR subscription_uid = nullif(@uid, '')::uuid)
        WINDOW earlier AS (PARTITION BY subscription_uid ORDER BY window_start, charge_source)) AS row
 WHERE (before_subscription, before_offering) IS DISTINCT FROM (subscription_version_id, offering_version_id)
 ORDER BY uid, first_window;
