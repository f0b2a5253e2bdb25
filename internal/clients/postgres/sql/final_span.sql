-- From the first final hour to the end of the last one, which a watermark vouches for even if its rows are gone. Both are
-- null while nothing is final. A window is an hour, so the index on its start finds both ends.
SELECT min(window_start) AS first_window,
       greatest(max(window_start) + interval '1 hour',
                (SELECT max(finalized_through) + interval '1 hour'
                   FROM subscription_watermarks
                  WHERE cluster_id = @cluster_id)) AS end_window
  FROM subscription_charges
 WHERE cluster_id = @cluster_id
   AND finalized;
