-- One row per version of every Offering. Charges name the version that they were computed from, so a version is never
-- changed; what may still be stored is that its object has gone.
CREATE TABLE offerings (
    id                BIGINT GENERATED ALWAYS AS IDENTITY,
    generation        BIGINT NOT NULL,
    valid_from        TIMESTAMPTZ NOT NULL,
    deleted_at        TIMESTAMPTZ, -- On the newest row of an object that is gone.
    uid               UUID NOT NULL,
    cluster_id        TEXT COLLATE "C" NOT NULL,
    namespace         TEXT COLLATE "C" NOT NULL,
    name              TEXT COLLATE "C" NOT NULL,
    content_hash      TEXT COLLATE "C" NOT NULL, -- Over spec and resolved_pricing.
    spec              JSONB NOT NULL,
    resolved_pricing  JSONB,
    labels            JSONB,
    annotations       JSONB,

    CONSTRAINT offerings_pkey PRIMARY KEY (cluster_id, id),
    CONSTRAINT offering_version_is_stored_once UNIQUE (cluster_id, uid, content_hash, valid_from),
    CONSTRAINT id_is_positive CHECK (id > 0),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT object_is_named CHECK (namespace <> '' AND name <> ''),
    CONSTRAINT content_is_hashed CHECK (content_hash <> ''),
    CONSTRAINT spec_is_object CHECK (jsonb_typeof(spec) = 'object')
);

CREATE INDEX offerings_by_uid ON offerings (cluster_id, uid, id);
CREATE INDEX offerings_by_name ON offerings (cluster_id, namespace, name, id);
