SELECT id
  FROM pricebooks
 WHERE cluster_id = @cluster_id
   AND uid = @uid
   AND content_hash = @content_hash;
