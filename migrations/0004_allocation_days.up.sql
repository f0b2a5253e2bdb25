-- A roll-up of the allocations by day and workload, kept by the run that writes the hours, in the same transaction.
-- Sums are in the units in which adding up is exact (seconds and bytes); hours and GiB are for those who read them.
CREATE TABLE allocation_days (
    day               DATE NOT NULL, -- In UTC.
    row_count         BIGINT NOT NULL,
    cluster_id        TEXT COLLATE "C" NOT NULL,
    aggregation       TEXT COLLATE "C" NOT NULL,
    namespace         TEXT COLLATE "C" NOT NULL,
    controller_kind   TEXT COLLATE "C" NOT NULL,
    controller        TEXT COLLATE "C" NOT NULL,
    cpu_core_seconds  NUMERIC NOT NULL,
    gpu_seconds       NUMERIC NOT NULL,
    ram_byte_seconds  NUMERIC NOT NULL,
    pv_byte_hours     NUMERIC NOT NULL,
    network_bytes     NUMERIC NOT NULL,

    CONSTRAINT allocation_days_pkey PRIMARY KEY (cluster_id, aggregation, day, namespace, controller_kind, controller),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT aggregation_is_named CHECK (aggregation <> ''),
    CONSTRAINT day_has_rows CHECK (row_count > 0),
    CONSTRAINT quantities_not_negative CHECK (
        cpu_core_seconds >= 0 AND gpu_seconds >= 0 AND ram_byte_seconds >= 0 AND pv_byte_hours >= 0 AND network_bytes >= 0),
    CONSTRAINT quantities_are_finite CHECK (
        cpu_core_seconds < 'Infinity' AND gpu_seconds < 'Infinity' AND ram_byte_seconds < 'Infinity'
        AND pv_byte_hours < 'Infinity' AND network_bytes < 'Infinity')
);
