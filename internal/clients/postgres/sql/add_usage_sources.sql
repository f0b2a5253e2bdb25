-- What a version says of its usage sources, each name in the column it is compared with. The name beside Pod is that of
-- a pod, and the kind says nothing else; one that says nothing at all selects nothing. Versions are looked up one by one:
-- a join is planned for the table as it was when somebody analyzed it last, and may read all of it.
INSERT INTO usage_sources (subscription, first_window, end_window, namespace, kind, controller, pod)
SELECT l.subscription,
       l.first_window,
       l.end_window,
       nullif(s.namespace, ''),
       CASE WHEN s."resourceType" = 'Pod' THEN NULL ELSE lower(nullif(s."resourceType", '')) END,
       CASE WHEN s."resourceType" = 'Pod' THEN NULL ELSE nullif(s.name, '') END,
       CASE WHEN s."resourceType" = 'Pod' THEN nullif(s.name, '') END
  FROM usage_lives AS l
 CROSS JOIN LATERAL (SELECT coalesce(spec -> 'usageSources', '[]') AS sources
                       FROM subscriptions
                      WHERE cluster_id = @cluster_id
                        AND id = l.version_id
                      LIMIT 1) AS v
 CROSS JOIN LATERAL jsonb_to_recordset(v.sources) AS s ("resourceType" text, name text, namespace text)
 WHERE coalesce(s.name, '') <> ''
    OR coalesce(s.namespace, '') <> ''
    OR coalesce(s."resourceType", 'Pod') NOT IN ('', 'Pod');
