-- What an hour adds to its day and takes from it. It is gone with the transaction.
CREATE TEMPORARY TABLE IF NOT EXISTS moved_days (LIKE allocation_days) ON COMMIT DROP;
