-- What people and the engine said: changes, incidents, findings, and the hourly
-- tallies that verdicts are looked for in.

-- +goose Up

-- A remediation, or anything else that was changed. node_id NULL: all nodes.
CREATE TABLE changes (
    change_id   uuid NOT NULL,
    at          timestamptz NOT NULL,
    node_id     int4,
    title       text NOT NULL,
    detail      text NOT NULL DEFAULT '',
    recorded_at timestamptz NOT NULL DEFAULT now(),
    recorded_by text NOT NULL DEFAULT '',
    CONSTRAINT pk_changes PRIMARY KEY (change_id)
);
ALTER TABLE changes ADD CONSTRAINT fk_changes_node_id FOREIGN KEY (node_id) REFERENCES nodes (node_id);

-- [from_at, to_at). collection_id: the evidence, kept until dismissed.
CREATE TABLE incidents (
    node_id       int4 NOT NULL,
    incident_id   uuid NOT NULL,
    instance      text NOT NULL,
    watch         text NOT NULL,
    from_at       timestamptz NOT NULL,
    to_at         timestamptz NOT NULL,
    stalls        int4 NOT NULL,
    state         text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    dismissed_at  timestamptz,
    collection_id int4,
    CONSTRAINT pk_incidents PRIMARY KEY (node_id, incident_id),
    CONSTRAINT ck_incidents_state CHECK (state IN ('open', 'dismissed'))
);
ALTER TABLE incidents ADD CONSTRAINT fk_incidents_node_id FOREIGN KEY (node_id) REFERENCES nodes (node_id);
ALTER TABLE incidents ADD CONSTRAINT fk_incidents_collection_id FOREIGN KEY (collection_id) REFERENCES collections (collection_id);
CREATE INDEX ix_incidents_from_at ON incidents (node_id, from_at);

-- document is the finding in the form of the JSON contract, params the
-- thresholds that it was computed with. incident_id: the incident that it judges.
-- fleet_: what false-discovery control over all nodes made of this revision (its
-- p-value and q-value, the number of tests, whether it is accepted); NULL until
-- that was computed.
CREATE TABLE findings (
    node_id    int4 NOT NULL,
    finding_id uuid NOT NULL,
    instance   text NOT NULL,
    watch      text NOT NULL,
    scope      text NOT NULL,
    from_at    timestamptz NOT NULL,
    to_at      timestamptz NOT NULL,
    verdict    text NOT NULL,
    grade      text NOT NULL,
    document   jsonb NOT NULL,
    params     jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revision   int4 NOT NULL DEFAULT 1,
    incident_id    uuid,
    fleet_p        float8,
    fleet_q        float8,
    fleet_tests    int4,
    fleet_accepted bool,
    CONSTRAINT pk_findings PRIMARY KEY (node_id, finding_id),
    CONSTRAINT ck_findings_scope CHECK (scope IN ('incident', 'day', 'week', 'adhoc'))
);
ALTER TABLE findings ADD CONSTRAINT fk_findings_node_id FOREIGN KEY (node_id) REFERENCES nodes (node_id);
CREATE INDEX ix_findings_from_at ON findings (node_id, from_at);
-- For lists over all nodes, and for the fleet's test of one day or week.
CREATE INDEX ix_findings_window ON findings (from_at, finding_id);
CREATE INDEX ix_findings_incident_id ON findings (incident_id) WHERE incident_id IS NOT NULL;

-- at is the hour's start. observed_s, exposed_s: seconds with data, and seconds
-- of them in which the watched process ran on a heavy CPU. waits_low, waits_high:
-- bounds on the number of waits over the threshold; equal where they were seen
-- one by one.
CREATE TABLE tallies (
    node_id        int4 NOT NULL,
    instance       text NOT NULL,
    watch          text NOT NULL,
    at             timestamptz NOT NULL,
    length_us      int8 NOT NULL,
    observed_s     int4,
    stalls         int4,
    stalls_exposed int4,
    exposed_s      int4,
    waits_low      int8,
    waits_high     int8,
    max_us         int8,
    CONSTRAINT pk_tallies PRIMARY KEY (node_id, watch, at, instance)
);
ALTER TABLE tallies ADD CONSTRAINT fk_tallies_node_id FOREIGN KEY (node_id) REFERENCES nodes (node_id);

-- The stalls of each hour, as the review found them: what incidents are made of,
-- and what a report lists when the samples are gone. at: an instant within the
-- stall. exposure is that of domain.StallMark. Kept as long as rollups.
CREATE TABLE stalls (
    node_id    int4 NOT NULL,
    instance   text NOT NULL,
    watch      text NOT NULL,
    at         timestamptz NOT NULL,
    longest_us int8 NOT NULL,
    waiters    int4 NOT NULL,
    exposure   text NOT NULL,
    CONSTRAINT pk_stalls PRIMARY KEY (node_id, watch, at, instance)
);
ALTER TABLE stalls ADD CONSTRAINT fk_stalls_node_id FOREIGN KEY (node_id) REFERENCES nodes (node_id);

-- +goose Down
DROP TABLE stalls, tallies, findings, incidents, changes;
