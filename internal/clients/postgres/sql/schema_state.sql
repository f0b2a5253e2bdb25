-- What is already there, in the schema that new tables would land in. The tables are asked for by name in that schema
-- only: what lies behind it in the search path is not in our way.
SELECT coalesce(home.name, '')                                   AS home,
       home.name IS NOT NULL AND @schema IN ('', home.name)      AS has_schema,
       to_regclass(format('%I.%I', home.name, @version_table::text)) IS NOT NULL AS has_versions,
       coalesce((SELECT c.relname::text
                   FROM pg_class AS c
                   JOIN pg_namespace AS n ON n.oid = c.relnamespace
                  WHERE n.nspname = home.name AND c.relname = ANY (@tables::text[])
                  ORDER BY c.relname
                  LIMIT 1), '')                                  AS taken
  FROM (SELECT current_schema()::text AS name) AS home;
