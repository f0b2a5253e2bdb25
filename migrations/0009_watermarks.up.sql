-- How far each Subscription is settled: the start of the last window before which nothing is open (OPEN-CJ-14). A
-- shortcut that can be computed again from the charges, except for a metered one that had nothing to charge.
CREATE TABLE subscription_watermarks (
    finalized_through  TIMESTAMPTZ NOT NULL,
    updated_at         TIMESTAMPTZ NOT NULL,
    subscription_uid   UUID NOT NULL,
    cluster_id         TEXT COLLATE "C" NOT NULL,

    CONSTRAINT subscription_watermarks_pkey PRIMARY KEY (cluster_id, subscription_uid),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT finalized_through_is_whole CHECK (
        date_trunc('hour', finalized_through AT TIME ZONE 'UTC') = finalized_through AT TIME ZONE 'UTC')
);
