-- The rates that allocation rows were collected under. A changed book becomes a new row (OPEN-DB-4), so a charge can
-- always be computed again from what was true when its rows were measured.
--
-- Every key begins with cluster_id: several clusters may share one database, and a database that is one day spread
-- over machines is spread by that column. Text keys are COLLATE "C": they compare as bytes, which is quicker, and an
-- upgrade of the operating system's collations cannot put an index out of order.
CREATE TABLE pricebooks (
    id                       BIGINT GENERATED ALWAYS AS IDENTITY,
    generation               BIGINT NOT NULL,
    cpu_hour_micros          BIGINT, -- NULL is a rate that is not set, 0 an explicit zero (OPEN-PB-8).
    spot_cpu_hour_micros     BIGINT,
    ram_gb_hour_micros       BIGINT,
    spot_ram_gb_hour_micros  BIGINT,
    pv_gb_hour_micros        BIGINT,
    gpu_hour_micros          BIGINT,
    network_gib_micros       BIGINT,
    first_seen_at            TIMESTAMPTZ NOT NULL DEFAULT now(),
    uid                      UUID NOT NULL,
    cluster_id               TEXT COLLATE "C" NOT NULL,
    namespace                TEXT COLLATE "C" NOT NULL,
    name                     TEXT COLLATE "C" NOT NULL,
    currency                 CHAR(3) NOT NULL,
    content_hash             TEXT COLLATE "C" NOT NULL, -- Over currency and rates.

    CONSTRAINT pricebooks_pkey PRIMARY KEY (cluster_id, id),
    CONSTRAINT pricebook_is_stored_once UNIQUE (cluster_id, uid, content_hash),
    CONSTRAINT id_is_positive CHECK (id > 0),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT book_is_named CHECK (namespace <> '' AND name <> ''),
    CONSTRAINT content_is_hashed CHECK (content_hash <> ''),
    CONSTRAINT currency_is_a_code CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT rates_not_negative CHECK (
        cpu_hour_micros >= 0 AND spot_cpu_hour_micros >= 0 AND ram_gb_hour_micros >= 0 AND spot_ram_gb_hour_micros >= 0
        AND pv_gb_hour_micros >= 0 AND gpu_hour_micros >= 0 AND network_gib_micros >= 0)
);
