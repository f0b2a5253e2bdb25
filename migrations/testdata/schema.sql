-- Everything that makes the schema, as lines of text in one order: two schemas are equal if these are.
SELECT line
  FROM (
    SELECT format('column %s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                  CASE WHEN a.attnotnull THEN ' not null' END,
                  ' ' || pg_get_expr(d.adbin, d.adrelid)) AS line
      FROM pg_attribute AS a
      JOIN pg_class AS c ON c.oid = a.attrelid
      LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'm') AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('relation %s %s %s %s', c.relname, c.relkind, c.reloptions, pg_get_expr(c.relpartbound, c.oid))
      FROM pg_class AS c
     WHERE c.relnamespace = current_schema()::regnamespace
    UNION ALL
    SELECT format('constraint %s on %s %s', o.conname, o.conrelid::regclass, pg_get_constraintdef(o.oid))
      FROM pg_constraint AS o
     WHERE o.connamespace = current_schema()::regnamespace
    UNION ALL
    SELECT format('index %s', pg_get_indexdef(i.indexrelid))
      FROM pg_index AS i
      JOIN pg_class AS c ON c.oid = i.indexrelid
     WHERE c.relnamespace = current_schema()::regnamespace
    UNION ALL
    SELECT format('trigger %s on %s %s %s', t.tgname, t.tgrelid::regclass, t.tgenabled, pg_get_triggerdef(t.oid))
      FROM pg_trigger AS t
      JOIN pg_class AS c ON c.oid = t.tgrelid
     WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal
    UNION ALL
    SELECT format('function %s %s', pg_get_functiondef(p.oid), p.proacl)
      FROM pg_proc AS p
     WHERE p.pronamespace = current_schema()::regnamespace
    UNION ALL
    SELECT format('view %s %s', c.relname, pg_get_viewdef(c.oid))
      FROM pg_class AS c
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'm'
  ) AS everything
 ORDER BY line COLLATE "C";
