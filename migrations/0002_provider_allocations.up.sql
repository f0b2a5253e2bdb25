-- What one workload consumed in one hour, as OpenCost measured it. Measurement only: no cost is stored here.
--
-- The columns of fixed width stand first, because text between them would be padded. The key is in the order in which
-- rows are loaded and read (an hour of a cluster at a time), so a new hour is appended to the index instead of being
-- sprinkled over it; its pages stay full, and the reads by hour need no index of their own.
CREATE TABLE provider_allocations (
    hour                    TIMESTAMPTZ NOT NULL,
    alloc_start             TIMESTAMPTZ NOT NULL, -- Clipped to the hour, like its end.
    alloc_end               TIMESTAMPTZ NOT NULL,
    collected_at            TIMESTAMPTZ NOT NULL,
    pricebook_id            BIGINT,               -- NULL while no book is known; 0 does not exist.
    is_finalized            BOOLEAN NOT NULL,
    cluster_id              TEXT COLLATE "C" NOT NULL,
    aggregation             TEXT COLLATE "C" NOT NULL,
    namespace               TEXT COLLATE "C" NOT NULL,
    name                    TEXT COLLATE "C" NOT NULL,
    pod                     TEXT COLLATE "C" NOT NULL DEFAULT '',
    container               TEXT COLLATE "C" NOT NULL DEFAULT '',
    controller              TEXT COLLATE "C" NOT NULL DEFAULT '',
    controller_kind         TEXT COLLATE "C" NOT NULL DEFAULT '',
    currency                CHAR(3),
    minutes                 NUMERIC,
    cpu_core_usage_avg      NUMERIC NOT NULL DEFAULT 0,
    ram_bytes_usage_avg     NUMERIC NOT NULL DEFAULT 0,
    gpu_count               NUMERIC NOT NULL DEFAULT 0,
    gpu_usage_avg           NUMERIC NOT NULL DEFAULT 0,
    pv_byte_hours           NUMERIC NOT NULL DEFAULT 0,
    network_transfer_bytes  NUMERIC NOT NULL DEFAULT 0,
    network_receive_bytes   NUMERIC NOT NULL DEFAULT 0,

    CONSTRAINT provider_allocations_pkey PRIMARY KEY (cluster_id, aggregation, hour, namespace, name),
    CONSTRAINT allocation_names_its_book FOREIGN KEY (cluster_id, pricebook_id) REFERENCES pricebooks (cluster_id, id),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT aggregation_is_named CHECK (aggregation <> ''),
    CONSTRAINT hour_is_whole CHECK (date_trunc('hour', hour AT TIME ZONE 'UTC') = hour AT TIME ZONE 'UTC'),
    CONSTRAINT interval_is_in_the_hour CHECK (
        alloc_start >= hour AND alloc_start <= alloc_end AND alloc_end - hour <= interval '1 hour'),
    CONSTRAINT book_and_currency_go_together CHECK ((pricebook_id IS NULL) = (currency IS NULL)),
    CONSTRAINT currency_is_a_code CHECK (currency ~ '^[A-Z]{3}$'),
    -- NaN sorts above Infinity, so the upper bounds keep both out.
    CONSTRAINT quantities_not_negative CHECK (
        minutes >= 0 AND cpu_core_usage_avg >= 0 AND ram_bytes_usage_avg >= 0 AND gpu_count >= 0 AND gpu_usage_avg >= 0
        AND pv_byte_hours >= 0 AND network_transfer_bytes >= 0 AND network_receive_bytes >= 0),
    CONSTRAINT quantities_are_finite CHECK (
        minutes < 'Infinity' AND cpu_core_usage_avg < 'Infinity' AND ram_bytes_usage_avg < 'Infinity'
        AND gpu_count < 'Infinity' AND gpu_usage_avg < 'Infinity' AND pv_byte_hours < 'Infinity'
        AND network_transfer_bytes < 'Infinity' AND network_receive_bytes < 'Infinity')
) PARTITION BY RANGE (hour);

-- Finds the allocation boundary: the oldest hour that is still open. Almost every row is finalized, so it stays tiny.
CREATE INDEX provider_allocations_open ON provider_allocations (cluster_id, aggregation, hour) WHERE NOT is_finalized;
