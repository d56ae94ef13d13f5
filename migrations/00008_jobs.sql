-- What several service processes share: what was received, what is to be judged
-- anew, how far sources were read, who holds what, which ticks of which job were
-- taken; and the agents and their credentials.

-- +goose Up

-- A push that was stored. It is inserted first, in the transaction of its rows:
-- a push that comes again inserts nothing. rows: how many it brought. No foreign
-- key: every push would lock its node's row.
CREATE TABLE receipts (
    node_id     int4 NOT NULL,
    spool_id    uuid NOT NULL,
    seq         int8 NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    rows        int4 NOT NULL,
    CONSTRAINT pk_receipts PRIMARY KEY (node_id, spool_id, seq)
);
-- For retention. Receipts come in the order of time, so that a block range index
-- finds the old ones at next to no cost for the pushes.
CREATE INDEX ix_receipts_received_at ON receipts USING brin (received_at);

-- Windows whose data changed since they were judged: an hour of UTC that pushed
-- rows touch, a day or a week that holds one. marks counts the changes: who cleans
-- a window says which it saw, and one that was marked again stays; since is the
-- first mark that is not cleaned, marked_at the last. A mark is made
-- in the transaction of its rows. No foreign key, as with receipts; half of each
-- page is left free, so that counting up touches no index.
CREATE TABLE dirty_windows (
    node_id   int4 NOT NULL,
    scope     text NOT NULL,
    at        timestamptz NOT NULL,
    marks     int8 NOT NULL,
    since     timestamptz NOT NULL,
    marked_at timestamptz NOT NULL,
    CONSTRAINT pk_dirty_windows PRIMARY KEY (node_id, scope, at),
    CONSTRAINT ck_dirty_windows_scope CHECK (scope IN ('hour', 'day', 'week'))
) WITH (fillfactor = 50);

-- What each agent's spool last told about itself. clock_offset_us: the node's
-- clock minus the service's; synchronized, clock_error_us: the kernel's word on its
-- clock. retimed: its samples were timed by the service's clock instead.
CREATE TABLE agents (
    node_id         int4 NOT NULL,
    spool_id        uuid NOT NULL,
    sequence        int8 NOT NULL,
    boot_id         text NOT NULL,
    version         text NOT NULL,
    hostname        text NOT NULL,
    seen_at         timestamptz NOT NULL,
    clock_offset_us int8,
    synchronized    bool,
    clock_error_us  int8,
    retimed         bool NOT NULL,
    CONSTRAINT pk_agents PRIMARY KEY (node_id, spool_id)
) WITH (fillfactor = 50);

-- How far a source was read.
CREATE TABLE watermarks (
    node_id    int4 NOT NULL,
    inst_id    int2 NOT NULL,
    source     text NOT NULL,
    at         timestamptz NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pk_watermarks PRIMARY KEY (node_id, inst_id, source)
);

CREATE TABLE leases (
    name       text NOT NULL,
    holder     text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_leases PRIMARY KEY (name)
);

-- The insert of a tick is the claim to it.
CREATE TABLE job_runs (
    job         text NOT NULL,
    tick        timestamptz NOT NULL,
    holder      text NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    result      text,
    detail      text,
    CONSTRAINT pk_job_runs PRIMARY KEY (job, tick)
);
-- Every process looks each few seconds for runs that nobody finishes, and for the
-- newest that went well.
CREATE INDEX ix_job_runs_under_way ON job_runs (job, tick) WHERE finished_at IS NULL;
CREATE INDEX ix_job_runs_done ON job_runs (job, tick) WHERE result = 'done';

-- hash: SHA-256 of the secret, which itself is nowhere. A token is revoked, never
-- deleted, so that its id is not given again.
CREATE TABLE tokens (
    token_id     text NOT NULL,
    node_id      int4 NOT NULL,
    hash         bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    revoked_at   timestamptz,
    CONSTRAINT pk_tokens PRIMARY KEY (token_id),
    CONSTRAINT ck_tokens_hash CHECK (octet_length(hash) = 32)
);
ALTER TABLE tokens ADD CONSTRAINT fk_tokens_node_id FOREIGN KEY (node_id) REFERENCES nodes (node_id);

-- +goose Down
DROP TABLE tokens, job_runs, leases, watermarks, agents, dirty_windows, receipts;
