-- Makes the monthly partitions that hold the instants first to last, both included, and returns how many it made.
-- There is no default partition: a row of a month that nobody made must fail loudly, not hide where no month can be
-- attached over it later. Call it as a statement of its own, before the transaction that writes.
--
-- It runs with the rights of the owner, so the collectors need no right to create tables. Its search path is pinned
-- below to the schema it lives in, so nobody can slip it a table of their own.
--
-- Two callers at once: the months that exist are found without any lock; whoever misses one waits for the advisory
-- lock and looks again. Locks are then taken in one order: allocations before charges, a table before what it refers
-- to. A month is made as a table of its own and attached, which unlike CREATE TABLE ... PARTITION OF lets readers and
-- writers of the other months go on. The wait for a lock is bounded, so a forgotten transaction cannot make a queue.
CREATE FUNCTION finops_ensure_months(first_instant TIMESTAMPTZ, last_instant TIMESTAMPTZ) RETURNS INTEGER
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET timezone = 'UTC'
    SET lock_timeout = '20s'
AS $$
DECLARE
    home    CONSTANT NAME := current_schema();
    longest CONSTANT INTEGER := 1200; -- A hundred years: more is a slip of the pen.
    locked  BOOLEAN := false;
    made    INTEGER := 0;
    parent  NAME;
    month   TIMESTAMPTZ;
    child   NAME;
BEGIN
    IF first_instant IS NULL OR last_instant IS NULL OR first_instant > last_instant
        OR NOT isfinite(first_instant) OR NOT isfinite(last_instant)
    THEN
        RAISE EXCEPTION 'cannot make the months from % to %: not a span of time', first_instant, last_instant
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF last_instant - first_instant > make_interval(months => longest) THEN
        RAISE EXCEPTION 'cannot make the months from % to %: more than % at once', first_instant, last_instant, longest
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    FOREACH parent IN ARRAY ARRAY['provider_allocations', 'subscription_charges']
    LOOP
        FOR month IN
            SELECT generate_series(date_trunc('month', first_instant), date_trunc('month', last_instant), interval '1 month')
        LOOP
            child := parent || to_char(month, '_YYYY_MM');
            CONTINUE WHEN finops_is_partition(home, parent, child);

            IF NOT locked THEN
                PERFORM pg_advisory_xact_lock(hashtext('finops_ensure_months'), hashtext(home));
                locked := true;
                CONTINUE WHEN finops_is_partition(home, parent, child);
            END IF;

            IF to_regclass(format('%I.%I', home, child)) IS NOT NULL THEN
                RAISE EXCEPTION 'table %.% exists but is no partition of %', home, child, parent
                    USING ERRCODE = 'duplicate_table',
                          HINT = 'A month that was detached has to be attached again, or moved to another schema.';
            END IF;

            -- The hour in progress is written and later replaced, which leaves a dead row for every living one. Cleaning
            -- up more often than every fifth of a month keeps the month at the size of what it holds.
            EXECUTE format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL EXCLUDING INDEXES)'
                ' WITH (autovacuum_vacuum_scale_factor = 0.05)', home, child, home, parent);
            EXECUTE format('ALTER TABLE %I.%I ATTACH PARTITION %I.%I FOR VALUES FROM (%L) TO (%L)',
                home, parent, home, child, month, month + interval '1 month');
            IF parent = 'subscription_charges' THEN
                EXECUTE format('CREATE TRIGGER charges_are_not_truncated BEFORE TRUNCATE ON %I.%I'
                    ' EXECUTE FUNCTION %I.finops_refuse_change(%L)', home, child, home, 'a finalized charge is history');
                EXECUTE format('ALTER TABLE %I.%I ENABLE ALWAYS TRIGGER charges_are_not_truncated', home, child);
            END IF;
            made := made + 1;
        END LOOP;
    END LOOP;

    RETURN made;
END
$$;

CREATE FUNCTION finops_is_partition(home NAME, parent NAME, child NAME) RETURNS BOOLEAN
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_inherits
         WHERE inhparent = to_regclass(format('%I.%I', home, parent))
           AND inhrelid = to_regclass(format('%I.%I', home, child))
           AND NOT inhdetachpending)
$$;

-- The schema is the installer's choice (FINOPS_DB_SCHEMA), so the pin is written down where it is known.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION finops_ensure_months(TIMESTAMPTZ, TIMESTAMPTZ) SET search_path = %I, pg_temp',
        current_schema());
END
$$;

REVOKE ALL ON FUNCTION finops_ensure_months(TIMESTAMPTZ, TIMESTAMPTZ) FROM PUBLIC;
