-- From the first final hour to the end of the last one, which a watermark vouches for even if its rows are gone. Both are
-- null while nothing is final.
SELECT min(window_start) AS first_window,
       greatest(max(window_end),
                (SELECT max(finalized_through) + interval '1 hour'
                   FROM subscription_watermarks
                  WHERE cluster_id = @cluster_id)) AS end_window
  FROM subscription_charges
 WHERE cluster_id = @cluster_id
   AND finalized;
