-- Something that stands under the id, if there is anything.
SELECT cluster_id FROM cluster_ids WHERE cluster_id = $1
UNION ALL
SELECT cluster_id FROM subscriptions WHERE cluster_id = $1
UNION ALL
SELECT cluster_id FROM subscription_charges WHERE cluster_id = $1
UNION ALL
SELECT cluster_id FROM allocation_hours WHERE cluster_id = $1
 LIMIT 1;
