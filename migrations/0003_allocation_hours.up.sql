-- The ledger of collection: one row per hour that a run has looked at. It tells gaps from hours without workloads.
CREATE TABLE allocation_hours (
    hour         TIMESTAMPTZ NOT NULL,
    updated_at   TIMESTAMPTZ NOT NULL,
    row_count    BIGINT NOT NULL DEFAULT 0,
    attempts     INTEGER NOT NULL DEFAULT 0,
    cluster_id   TEXT COLLATE "C" NOT NULL,
    aggregation  TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    last_error   TEXT,

    CONSTRAINT allocation_hours_pkey PRIMARY KEY (cluster_id, aggregation, hour),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT aggregation_is_named CHECK (aggregation <> ''),
    CONSTRAINT hour_is_whole CHECK (date_trunc('hour', hour AT TIME ZONE 'UTC') = hour AT TIME ZONE 'UTC'),
    CONSTRAINT state_is_known CHECK (state IN ('open', 'final', 'empty', 'failed')),
    CONSTRAINT counts_not_negative CHECK (row_count >= 0 AND attempts >= 0),
    CONSTRAINT empty_has_no_rows CHECK (state <> 'empty' OR row_count = 0)
);
