-- What Oracle said: waits, histograms and counters of its V$ views, timings of
-- SQL; the times for which nothing is known, and what happened to nodes.
--
-- node_id is the node that the instance ran on. inst_id: -1 unknown.

-- +goose Up

-- One session's wait as one ASH row shows it. sample_id -1 unknown; a negative
-- session_id is a number given to an unknown one, so that rows stay apart;
-- event_id 0: on CPU. time_waited_us: 0 not fixed up yet, NULL could not be
-- read. period_us: what one row stands for (1 s in V$, 10 s in DBA_HIST).
CREATE TABLE waits (
    node_id        int4 NOT NULL,
    at             timestamptz NOT NULL,
    inst_id        int2 NOT NULL,
    sample_id      int8 NOT NULL,
    session_id     int4 NOT NULL,
    serial         int4 NOT NULL,
    event_id       int4 NOT NULL,
    background     bool NOT NULL,
    waiting        bool NOT NULL,
    time_waited_us int8,
    period_us      int8,
    sql_id         text,
    program        text,
    module         text,
    machine        text,
    service        text,
    p1             int8,
    p2             int8,
    p3             int8,
    CONSTRAINT pk_waits PRIMARY KEY (node_id, at, inst_id, sample_id, session_id, serial, event_id)
);
SELECT corewait_make_kept('waits');
SELECT corewait_make_hot('waits', 'day', '{node_id,inst_id}');

-- A run of readings of V$EVENT_HISTOGRAM (milli) or V$EVENT_HISTOGRAM_MICRO of
-- one event: the first whole (below_us, counts, last_update_us, taken at at), the
-- following at at + reading_us[i] by what differs from the reading before:
-- change_reading is the index of the reading, change_bucket of the bucket, with
-- its new count and last update. Last updates are us since 1970, 0 unknown. A new
-- bucket begins a new row. until is the last reading's time.
CREATE TABLE histograms (
    node_id               int4 NOT NULL,
    inst_id               int2 NOT NULL,
    event_id              int4 NOT NULL,
    milli                 bool NOT NULL,
    at                    timestamptz NOT NULL,
    until                 timestamptz NOT NULL,
    below_us              int8[] NOT NULL,
    counts                int8[] NOT NULL,
    last_update_us        int8[],
    reading_us            int4[],
    change_reading        int2[],
    change_bucket         int2[],
    change_counts         int8[],
    change_last_update_us int8[],
    CONSTRAINT pk_histograms PRIMARY KEY (node_id, inst_id, event_id, milli, at)
);
SELECT corewait_make_kept('histograms');
SELECT corewait_make_hot('histograms', 'day', '{node_id,inst_id,event_id,milli}');

-- A run of readings of V$SYSSTAT or V$SYSTEM_EVENT: values holds the first
-- reading's values in the order of name_ids, then, reading by reading, the
-- differences to the reading before; NULL unknown. set_hash is a hash of
-- name_ids: two sources read at one instant do not collide.
CREATE TABLE counters (
    node_id    int4 NOT NULL,
    inst_id    int2 NOT NULL,
    at         timestamptz NOT NULL,
    set_hash   int4 NOT NULL,
    until      timestamptz NOT NULL,
    name_ids   int4[] NOT NULL,
    reading_us int4[],
    values     int8[] NOT NULL,
    CONSTRAINT pk_counters PRIMARY KEY (node_id, inst_id, at, set_hash)
);
SELECT corewait_make_kept('counters');
SELECT corewait_make_hot('counters', 'day', '{node_id,inst_id,set_hash}');

-- One statement and plan over an interval of AWR or Statspack.
CREATE TABLE sql_timings (
    node_id        int4 NOT NULL,
    at             timestamptz NOT NULL,
    length_us      int8 NOT NULL,
    inst_id        int2 NOT NULL,
    dbid           int8,
    sql_id         text NOT NULL,
    plan_hash      int8 NOT NULL,
    executions     int8,
    elapsed_us     int8,
    cpu_us         int8,
    buffer_gets    int8,
    disk_reads     int8,
    rows_processed int8,
    module         text,
    CONSTRAINT pk_sql_timings PRIMARY KEY (node_id, at, length_us, inst_id, sql_id, plan_hash)
);
SELECT corewait_make_kept('sql_timings');
SELECT corewait_make_hot('sql_timings', 'day', '{node_id,inst_id}');

-- A time for which a source has no data, and why; events: how many samples were
-- lost. at and until are '-infinity' where the time is unknown. An ordinary table
-- on every kind of database: few rows, some of them from before the oldest
-- partition, and a hypertable takes no infinite time.
CREATE TABLE coverage_gaps (
    node_id int4 NOT NULL,
    source  text NOT NULL,
    at      timestamptz NOT NULL,
    until   timestamptz NOT NULL,
    reason  text NOT NULL,
    events  int4,
    CONSTRAINT pk_coverage_gaps PRIMARY KEY (node_id, source, at, until, reason)
);
SELECT corewait_make_kept('coverage_gaps');
SELECT corewait_make_hot('coverage_gaps', 'none', '{node_id}');

-- What happened to a node at an instant: a bond that failed over, a watched
-- process that began or ended, a clock that was stepped. subject is what it
-- happened to: a bond, a process. An ordinary table, as coverage_gaps is.
CREATE TABLE node_events (
    node_id int4 NOT NULL,
    at      timestamptz NOT NULL,
    kind    text NOT NULL,
    subject text NOT NULL,
    detail  text NOT NULL,
    CONSTRAINT pk_node_events PRIMARY KEY (node_id, at, kind, subject)
);
SELECT corewait_make_kept('node_events');
SELECT corewait_make_hot('node_events', 'none', '{node_id}');

-- SQL text can hold personal data: corewait_reader never sees this table.
CREATE TABLE sql_texts (
    node_id    int4 NOT NULL,
    sql_id     text NOT NULL,
    sql_text   text NOT NULL,
    first_seen timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pk_sql_texts PRIMARY KEY (node_id, sql_id)
);
ALTER TABLE sql_texts ADD CONSTRAINT fk_sql_texts_node_id FOREIGN KEY (node_id) REFERENCES nodes (node_id);

-- +goose Down
DROP TABLE sql_texts;
DROP TABLE kept_node_events;
DROP TABLE node_events;
DROP TABLE kept_coverage_gaps;
DROP TABLE coverage_gaps;
DROP TABLE kept_sql_timings;
DROP TABLE sql_timings;
DROP TABLE kept_counters;
DROP TABLE counters;
DROP TABLE kept_histograms;
DROP TABLE histograms;
DROP TABLE kept_waits;
DROP TABLE waits;
DELETE FROM corewait_hot_tables WHERE table_name IN ('node_events', 'coverage_gaps', 'sql_timings', 'counters', 'histograms', 'waits');
