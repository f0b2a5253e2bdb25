-- What one Subscription owes for one hour and one source: the fee or a usage meter. Keyed by uid, because a name can
-- be taken again, and kept when the object is gone. A window may lie in the future (a close-out row, OPEN-CJ-23).
CREATE TABLE subscription_charges (
    window_start             TIMESTAMPTZ NOT NULL,
    window_end               TIMESTAMPTZ NOT NULL,
    created_at               TIMESTAMPTZ NOT NULL,
    updated_at               TIMESTAMPTZ NOT NULL,
    amount_micros            BIGINT NOT NULL,
    unit_price_micros        BIGINT, -- Per tick or unit; NULL if the rows behind it had several prices.
    offering_version_id      BIGINT NOT NULL,
    subscription_version_id  BIGINT NOT NULL,
    pricebook_id             BIGINT, -- NULL for the fee, and if several books took part.
    subscription_uid         UUID NOT NULL,
    finalized                BOOLEAN NOT NULL,
    cluster_id               TEXT COLLATE "C" NOT NULL,
    charge_source            TEXT COLLATE "C" NOT NULL,
    currency                 CHAR(3),
    quantity                 NUMERIC, -- Ticks for the fee, units for usage.
    details                  JSONB,

    CONSTRAINT subscription_charges_pkey PRIMARY KEY (cluster_id, subscription_uid, window_start, charge_source),
    CONSTRAINT charge_names_its_offering
        FOREIGN KEY (cluster_id, offering_version_id) REFERENCES offerings (cluster_id, id),
    CONSTRAINT charge_names_its_subscription
        FOREIGN KEY (cluster_id, subscription_version_id) REFERENCES subscriptions (cluster_id, id),
    CONSTRAINT charge_names_its_book FOREIGN KEY (cluster_id, pricebook_id) REFERENCES pricebooks (cluster_id, id),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT window_starts_on_the_hour CHECK (
        date_trunc('hour', window_start AT TIME ZONE 'UTC') = window_start AT TIME ZONE 'UTC'),
    CONSTRAINT window_is_one_hour CHECK (window_end - window_start = interval '1 hour'),
    CONSTRAINT source_is_known CHECK (
        charge_source IN ('subscription', 'cpuHour', 'gpuHour', 'ramGbHour', 'pvGbHour', 'networkGb')),
    CONSTRAINT fee_has_no_book CHECK (charge_source <> 'subscription' OR pricebook_id IS NULL),
    CONSTRAINT amount_not_negative CHECK (amount_micros >= 0),
    CONSTRAINT unit_price_not_negative CHECK (unit_price_micros >= 0),
    CONSTRAINT quantity_not_negative CHECK (quantity >= 0),
    CONSTRAINT quantity_is_finite CHECK (quantity < 'Infinity'),
    CONSTRAINT currency_is_a_code CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT details_is_object CHECK (jsonb_typeof(details) = 'object')
) PARTITION BY RANGE (window_start);

-- Sums over a month, whoever the Subscriptions are. Equal keys share an entry, so it costs a few bytes a row.
CREATE INDEX subscription_charges_by_window ON subscription_charges (cluster_id, window_start);
