-- Drops whole months of one table that ended at least so many days before an instant, and returns their names in order
-- (BETTER-DB-2). A month stays while any row of it is not final, and while it holds rows of another cluster: how long
-- those are kept is not for this one to say. Charges of an hour can be computed again only from its allocations, so a
-- month of allocations stays as well while a charge of it, or of an earlier month, is not final.
--
-- It runs with the rights of the owner, as finops_ensure_months does, and takes the same lock: nobody makes a month
-- while another is dropped. Writers reach a month through its parent, so the parent is locked first; until a month is
-- known to go, nothing is. The wait for that lock is bounded.
CREATE FUNCTION finops_drop_months(parent NAME, cluster TEXT, at TIMESTAMPTZ, days INTEGER) RETURNS SETOF NAME
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET timezone = 'UTC'
    SET lock_timeout = '20s'
AS $$
DECLARE
    home  CONSTANT NAME := current_schema();
    least CONSTANT INTEGER := 31; -- What is summed up for the current month is never dropped.
    month TIMESTAMPTZ;
    child NAME;
BEGIN
    IF parent IS NULL OR parent NOT IN ('provider_allocations', 'subscription_charges') THEN
        RAISE EXCEPTION 'cannot drop months of table %: it is not kept by months', parent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF cluster IS NULL OR at IS NULL OR days IS NULL OR days < least THEN
        RAISE EXCEPTION 'cannot drop months of table %: % days are fewer than %', parent, days, least
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('finops_ensure_months'), hashtext(home));

    FOR month, child IN
        SELECT to_timestamp(right(c.relname, 7), 'YYYY_MM'), c.relname
          FROM pg_inherits AS i
          JOIN pg_class AS c ON c.oid = i.inhrelid
         WHERE i.inhparent = to_regclass(format('%I.%I', home, parent))
           AND c.relname ~ ('^' || parent || '_[0-9]{4}_[0-9]{2}$')
           AND to_timestamp(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= at - make_interval(days => days)
         ORDER BY 1
    LOOP
        CONTINUE WHEN NOT finops_may_drop(home, parent, child, month, cluster);
        EXECUTE format('LOCK TABLE ONLY %I.%I IN ACCESS EXCLUSIVE MODE', home, parent);
        CONTINUE WHEN NOT finops_may_drop(home, parent, child, month, cluster); -- It may have been written to.
        EXECUTE format('DROP TABLE %I.%I', home, child);
        RETURN NEXT child;
    END LOOP;
END
$$;

CREATE FUNCTION finops_may_drop(home NAME, parent NAME, child NAME, month TIMESTAMPTZ, cluster TEXT) RETURNS BOOLEAN
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    needed BOOLEAN;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %1$I.%2$I WHERE cluster_id < $1)'
        ' OR EXISTS (SELECT FROM %1$I.%2$I WHERE cluster_id > $1)'
        ' OR EXISTS (SELECT FROM %1$I.%2$I WHERE NOT %3$I)',
        home, child, CASE parent WHEN 'provider_allocations' THEN 'is_finalized' ELSE 'finalized' END)
        INTO needed USING cluster;
    IF NOT needed AND parent = 'provider_allocations' THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %I.subscription_charges'
            ' WHERE cluster_id = $1 AND window_start < $2 AND NOT finalized)', home)
            INTO needed USING cluster, month + interval '1 month';
    END IF;
    RETURN NOT needed;
END
$$;

-- The schema is the installer's choice (FINOPS_DB_SCHEMA), so the pin is written down where it is known.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION finops_drop_months(NAME, TEXT, TIMESTAMPTZ, INTEGER) SET search_path = %I, pg_temp',
        current_schema());
END
$$;

REVOKE ALL ON FUNCTION finops_drop_months(NAME, TEXT, TIMESTAMPTZ, INTEGER) FROM PUBLIC;
REVOKE ALL ON FUNCTION finops_may_drop(NAME, NAME, NAME, TIMESTAMPTZ, TEXT) FROM PUBLIC;
