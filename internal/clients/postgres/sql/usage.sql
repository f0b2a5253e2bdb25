-- What the sources of all Subscriptions consumed in some hours, added up exactly. A source is joined by what it names,
-- so that each of the parts below is one hash join; their UNION is why a row counts once, however many sources of one
-- Subscription select it. The rules of selection are those of package charge, which this is tested against.
--
-- Of hours that nobody has counted yet it adds up once more, over all rows, what somebody claims and what nobody does:
-- two subjects that are none, before all others. The reserved names of OpenCost count if they are claimed; they are
-- nobody's use.
WITH measured AS MATERIALIZED (
    SELECT row_number() OVER () AS row,
           hour,
           namespace,
           namespace IN ('__idle__', '__unallocated__', '__unmounted__') AS pseudo,
           controller,
           lower(controller_kind) AS kind,
           -- CronJobs name their Jobs after themselves and the minute.
           CASE WHEN lower(controller_kind) = 'job' THEN substring(controller FROM '^(.*)-[0-9]+$') END AS cron_job,
           pod,
           coalesce(pricebook_id, 0) AS pricebook_id, -- A row without a book is never billed, but reported.
           floor(extract(epoch FROM alloc_start))::bigint AS began,
           floor(extract(epoch FROM alloc_end))::bigint   AS ended,
           cpu_core_usage_avg,
           gpu_usage_avg,
           ram_bytes_usage_avg,
           pv_byte_hours,
           network_transfer_bytes + network_receive_bytes AS network_bytes
      FROM provider_allocations
     WHERE cluster_id = @cluster_id
       AND aggregation = @aggregation
       AND hour >= @first_hour
       AND hour < @end_hour
), matched AS (
    SELECT s.subscription, m.row
      FROM usage_sources AS s
      JOIN measured AS m ON m.namespace = s.namespace AND m.controller = s.controller
     WHERE m.hour >= s.first_window AND m.hour < s.end_window
       AND (s.kind IS NULL OR m.kind = s.kind OR (s.kind = 'cronjob' AND m.kind = 'job'))
     UNION
    SELECT s.subscription, m.row
      FROM usage_sources AS s
      JOIN measured AS m ON m.namespace = s.namespace AND m.pod = s.pod
     WHERE m.hour >= s.first_window AND m.hour < s.end_window
     UNION
    SELECT s.subscription, m.row
      FROM usage_sources AS s
      JOIN measured AS m ON m.namespace = s.namespace
     WHERE m.hour >= s.first_window AND m.hour < s.end_window
       AND s.controller IS NULL AND s.pod IS NULL
       AND (s.kind IS NULL OR m.kind = s.kind)
     UNION
    SELECT s.subscription, m.row
      FROM usage_sources AS s
      JOIN measured AS m ON m.controller = s.controller
     WHERE m.hour >= s.first_window AND m.hour < s.end_window
       AND s.namespace IS NULL AND NOT m.pseudo
       AND (s.kind IS NULL OR m.kind = s.kind OR (s.kind = 'cronjob' AND m.kind = 'job'))
     UNION
    SELECT s.subscription, m.row
      FROM usage_sources AS s
      JOIN measured AS m ON m.pod = s.pod
     WHERE m.hour >= s.first_window AND m.hour < s.end_window
       AND s.namespace IS NULL AND NOT m.pseudo
     UNION
    SELECT s.subscription, m.row
      FROM usage_sources AS s
      JOIN measured AS m ON m.kind = s.kind
     WHERE m.hour >= s.first_window AND m.hour < s.end_window
       AND s.namespace IS NULL AND s.controller IS NULL AND s.pod IS NULL AND NOT m.pseudo
     UNION
    SELECT s.subscription, m.row
      FROM usage_sources AS s
      JOIN measured AS m ON m.cron_job = s.controller
     WHERE m.hour >= s.first_window AND m.hour < s.end_window
       AND s.kind = 'cronjob'
       AND (m.namespace = s.namespace OR (s.namespace IS NULL AND NOT m.pseudo))
), billable AS (
    SELECT l.subscription,
           m.*,
           m.ended - m.began AS whole,
           least(m.ended, l.active_to) - greatest(m.began, l.active_from) AS span
      FROM matched
      JOIN usage_lives AS l USING (subscription)
      JOIN measured AS m USING (row)
), counted AS (
    SELECT CASE WHEN c.row IS NULL THEN -2 ELSE -1 END AS subscription,
           m.*,
           m.ended - m.began AS span
      FROM measured AS m
      LEFT JOIN (SELECT DISTINCT row FROM billable WHERE span > 0) AS c USING (row)
     WHERE m.hour >= @count_first
       AND m.hour < @count_end
       AND m.ended > m.began
       AND (c.row IS NOT NULL OR NOT m.pseudo)
)
SELECT subscription,
       hour,
       pricebook_id,
       1::bigint AS share_seconds,
       sum(cpu_core_usage_avg * span)  AS core_seconds,
       sum(gpu_usage_avg * span)       AS gpu_seconds,
       sum(ram_bytes_usage_avg * span) AS byte_seconds,
       sum(pv_byte_hours)              AS pv_byte_hours,
       sum(network_bytes)              AS network_bytes
  FROM counted
 GROUP BY subscription, hour, pricebook_id
 UNION ALL
SELECT subscription,
       hour,
       pricebook_id,
       CASE WHEN span = whole THEN 1 ELSE whole END AS share_seconds,
       sum(cpu_core_usage_avg * span)  AS core_seconds,
       sum(gpu_usage_avg * span)       AS gpu_seconds,
       sum(ram_bytes_usage_avg * span) AS byte_seconds,
       sum(pv_byte_hours * CASE WHEN span = whole THEN 1 ELSE span END) AS pv_byte_hours,
       sum(network_bytes * CASE WHEN span = whole THEN 1 ELSE span END) AS network_bytes
  FROM billable
 WHERE span > 0 -- Outside of the life, or of no length, nothing was measured that could be billed.
 GROUP BY subscription, hour, pricebook_id, share_seconds
 ORDER BY subscription, hour, pricebook_id, share_seconds;
