SELECT b.id, b.currency
  FROM current_pricebooks AS c
  JOIN pricebooks AS b ON b.cluster_id = c.cluster_id AND b.id = c.pricebook_id
 WHERE c.cluster_id = @cluster_id
   AND c.uid = @uid;
