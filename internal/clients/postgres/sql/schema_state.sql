-- What is already there, in the schema that new tables would land in. The tables are asked for by name in that schema
-- only: what lies behind it in the search path is not in our way.
SELECT coalesce(home.name, '')                              AS home,
       home.name IS NOT NULL AND @schema IN ('', home.name) AS has_schema,
       EXISTS (SELECT FROM pg_class WHERE relnamespace = home.oid AND relname = @version_table) AS has_versions,
       coalesce((SELECT relname::text
                   FROM pg_class
                  WHERE relnamespace = home.oid AND relname = ANY (@tables::text[])
                  ORDER BY relname
                  LIMIT 1), '')                             AS taken
  FROM (SELECT current_schema()::text AS name, to_regnamespace(quote_ident(current_schema())) AS oid) AS home;
