-- Where an hour waits to be compared with what is stored of it. It is gone with the transaction. Its key lets either
-- side be looked up in the other whatever the planner believes about the size of a table that is a second old.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_allocations (
    LIKE provider_allocations INCLUDING DEFAULTS,
    PRIMARY KEY (namespace, name)
) ON COMMIT DROP;
