SELECT EXISTS (
    SELECT
      FROM subscription_charges
     WHERE cluster_id = @cluster_id
       AND window_start >= @first_window
       AND window_start < @end_window);
