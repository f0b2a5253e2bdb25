-- Everybody who has held a name, or has the uid, as last recorded.
SELECT DISTINCT ON (s.uid) s.uid::text AS uid, s.namespace, s.name, s.activated_at, s.deactivated_at, s.deleted_at, s.id
  FROM subscriptions AS s
 WHERE s.cluster_id = @cluster_id
   AND ((s.namespace = @namespace AND s.name = @name) OR s.uid::text = @uid)
 ORDER BY s.uid, s.id DESC;
