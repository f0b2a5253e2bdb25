-- Instants of a life are seconds since the epoch, for they are compared with seconds.
CREATE TEMPORARY TABLE usage_lives (
    subscription  INTEGER NOT NULL,
    version_id    BIGINT NOT NULL,
    active_from   BIGINT NOT NULL,
    active_to     BIGINT NOT NULL,
    first_window  TIMESTAMPTZ NOT NULL,
    end_window    TIMESTAMPTZ NOT NULL
);
