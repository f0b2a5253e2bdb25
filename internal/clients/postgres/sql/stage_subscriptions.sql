-- Where objects wait to be mirrored, each as one document. It is gone with the transaction.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_subscriptions (object JSONB NOT NULL) ON COMMIT DROP;
