-- What the hours of a transaction add to their days and take from them. It is gone with the transaction.
CREATE TEMPORARY TABLE IF NOT EXISTS moved_days (LIKE allocation_days) ON COMMIT DROP;
