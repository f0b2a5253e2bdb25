-- For which hours a batch speaks: from first_window on, for the Subscriptions listed and no others.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_windows (
    subscription_uid   UUID NOT NULL,
    first_window       TIMESTAMPTZ NOT NULL,
    finalized_through  TIMESTAMPTZ
) ON COMMIT DELETE ROWS;
