-- Where the rows of a batch arrive before they are merged. They last as long as the batch's transaction.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_charges (
    subscription_uid         UUID NOT NULL,
    window_start             TIMESTAMPTZ NOT NULL,
    charge_source            TEXT COLLATE "C" NOT NULL,
    amount_micros            BIGINT NOT NULL,
    quantity                 NUMERIC,
    unit_price_micros        BIGINT,
    currency                 CHAR(3),
    finalized                BOOLEAN NOT NULL,
    offering_version_id      BIGINT NOT NULL,
    subscription_version_id  BIGINT NOT NULL,
    pricebook_id             BIGINT,
    details                  JSONB
) ON COMMIT DELETE ROWS;
