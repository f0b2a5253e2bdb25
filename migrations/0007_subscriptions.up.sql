-- One row per version of every Subscription, with what its namespace was labelled with at that time, so that charges
-- roll up per tenant as things stood when they were made. It is a copy, so it takes whatever the API server holds: there
-- is no rule here about times, which a moved clock could break and which would then keep the object from being charged.
CREATE TABLE subscriptions (
    id                  BIGINT GENERATED ALWAYS AS IDENTITY,
    generation          BIGINT NOT NULL,
    valid_from          TIMESTAMPTZ NOT NULL,
    deleted_at          TIMESTAMPTZ, -- On the newest row of an object that is gone.
    activated_at        TIMESTAMPTZ,
    deactivated_at      TIMESTAMPTZ,
    uid                 UUID NOT NULL,
    offering_uid        UUID, -- The Offering whose terms it was activated on; its name may have gone to another.
    parent_uid          UUID,
    cluster_id          TEXT COLLATE "C" NOT NULL,
    namespace           TEXT COLLATE "C" NOT NULL,
    name                TEXT COLLATE "C" NOT NULL,
    content_hash        TEXT COLLATE "C" NOT NULL,
    offering_namespace  TEXT COLLATE "C" NOT NULL,
    offering_name       TEXT COLLATE "C" NOT NULL,
    parent_namespace    TEXT COLLATE "C",
    parent_name         TEXT COLLATE "C",
    compatibility_root  TEXT COLLATE "C",
    tenant              TEXT COLLATE "C" GENERATED ALWAYS AS (namespace_labels ->> 'stakater.com/tenant') STORED,
    spec                JSONB NOT NULL,
    namespace_labels    JSONB,
    labels              JSONB,
    annotations         JSONB,

    CONSTRAINT subscriptions_pkey PRIMARY KEY (cluster_id, id),
    CONSTRAINT subscription_version_is_stored_once UNIQUE (cluster_id, uid, content_hash, valid_from),
    CONSTRAINT id_is_positive CHECK (id > 0),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT object_is_named CHECK (namespace <> '' AND name <> ''),
    CONSTRAINT content_is_hashed CHECK (content_hash <> ''),
    CONSTRAINT spec_is_object CHECK (jsonb_typeof(spec) = 'object'),
    CONSTRAINT parent_is_named_in_full CHECK ((parent_namespace IS NULL) = (parent_name IS NULL))
);

CREATE INDEX subscriptions_by_uid ON subscriptions (cluster_id, uid, id);
CREATE INDEX subscriptions_by_name ON subscriptions (cluster_id, namespace, name, id);
CREATE INDEX subscriptions_by_tenant ON subscriptions (cluster_id, tenant, uid);
