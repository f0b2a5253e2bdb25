SELECT id, currency
  FROM pricebooks
 WHERE cluster_id = @cluster_id
   AND uid = @uid
 ORDER BY id DESC
 LIMIT 1;
