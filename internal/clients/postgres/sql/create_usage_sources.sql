-- What a run charges usage for, for as long as its session lasts. Unset fields of a source are NULL; a name stands in
-- the column it is compared with.
CREATE TEMPORARY TABLE usage_sources (
    subscription   INTEGER NOT NULL,
    first_window   TIMESTAMPTZ NOT NULL,
    end_window     TIMESTAMPTZ NOT NULL,
    namespace      TEXT COLLATE "C",
    kind           TEXT COLLATE "C",
    controller     TEXT COLLATE "C",
    pod            TEXT COLLATE "C"
);
