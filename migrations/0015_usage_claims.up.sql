-- How much of what was measured somebody is billed for: one row per hour and meter, written by the first charge run that
-- found the hour final. What nobody claims is counted in the meter's units, and so is what is claimed but has no rate.
CREATE TABLE usage_claims (
    hour         TIMESTAMPTZ NOT NULL,
    counted_at   TIMESTAMPTZ NOT NULL,
    cluster_id   TEXT COLLATE "C" NOT NULL,
    aggregation  TEXT COLLATE "C" NOT NULL,
    meter        TEXT COLLATE "C" NOT NULL,
    measured     NUMERIC NOT NULL,
    unclaimed    NUMERIC NOT NULL,
    unrated      NUMERIC NOT NULL,

    CONSTRAINT usage_claims_pkey PRIMARY KEY (cluster_id, aggregation, hour, meter),
    CONSTRAINT cluster_is_named CHECK (cluster_id <> ''),
    CONSTRAINT aggregation_is_named CHECK (aggregation <> ''),
    CONSTRAINT hour_is_whole CHECK (date_trunc('hour', hour AT TIME ZONE 'UTC') = hour AT TIME ZONE 'UTC'),
    CONSTRAINT meter_is_usage CHECK (meter IN ('cpuHour', 'gpuHour', 'ramGbHour', 'pvGbHour', 'networkGb')),
    CONSTRAINT claims_are_parts CHECK (unclaimed >= 0 AND unrated >= 0 AND unclaimed + unrated <= measured),
    CONSTRAINT quantities_are_finite CHECK (measured < 'Infinity') -- NaN is larger still.
);
