-- From the first final hour to the end of the last one. Both are null while nothing is final.
SELECT min(window_start) AS first_window, max(window_end) AS end_window
  FROM subscription_charges
 WHERE cluster_id = @cluster_id
   AND finalized;
