SELECT min(window_start)
  FROM subscription_charges
 WHERE cluster_id = @cluster_id
   AND window_start >= @first_window
   AND finalized
   AND (@uid = '' OR subscription_uid = nullif(@uid, '')::uuid);
