-- Where an hour waits to be compared with what is stored of it. It is gone with the transaction.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_allocations (LIKE provider_allocations INCLUDING DEFAULTS) ON COMMIT DROP;
