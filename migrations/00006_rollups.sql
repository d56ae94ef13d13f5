-- Ten-minute buckets, kept for 13 months. at is the bucket's start, observed_us
-- how much of it was seen. Their units are those of the samples.

-- +goose Up

CREATE TABLE interrupt_rollups (
    node_id     int4 NOT NULL,
    at          timestamptz NOT NULL,
    observed_us int8 NOT NULL,
    cpus        int2[],
    counts      int8[] NOT NULL,
    max_per_s   int4[],
    CONSTRAINT pk_interrupt_rollups PRIMARY KEY (node_id, at)
);
SELECT corewait_make_hot('interrupt_rollups', 'month', '{node_id}');

CREATE TABLE cpu_rollups (
    node_id            int4 NOT NULL,
    at                 timestamptz NOT NULL,
    observed_us        int8 NOT NULL,
    cpus               int2[],
    busy_bp            int2[],
    irq_softirq_bp     int2[],
    steal_bp           int2[],
    busy_max_bp        int2[],
    irq_softirq_max_bp int2[],
    steal_max_bp       int2[],
    host_system_ppm    int4,
    host_busy_ppm      int4,
    CONSTRAINT pk_cpu_rollups PRIMARY KEY (node_id, at)
);
SELECT corewait_make_hot('cpu_rollups', 'month', '{node_id}');

-- How many samples of the command's threads were read on each CPU.
CREATE TABLE placement_rollups (
    node_id    int4 NOT NULL,
    command_id int4 NOT NULL,
    at         timestamptz NOT NULL,
    cpus       int2[],
    samples    int4[] NOT NULL,
    CONSTRAINT pk_placement_rollups PRIMARY KEY (node_id, command_id, at)
);
SELECT corewait_make_hot('placement_rollups', 'month', '{node_id,command_id}');

-- rows: waits seen; over_100ms: of them, 0.1 s and longer.
CREATE TABLE wait_rollups (
    node_id    int4 NOT NULL,
    inst_id    int2 NOT NULL,
    event_id   int4 NOT NULL,
    at         timestamptz NOT NULL,
    rows       int8 NOT NULL,
    over_100ms int8 NOT NULL,
    max_us     int8,
    sum_us     int8,
    CONSTRAINT pk_wait_rollups PRIMARY KEY (node_id, inst_id, event_id, at)
);
SELECT corewait_make_hot('wait_rollups', 'month', '{node_id,inst_id,event_id}');

-- +goose Down
DROP TABLE wait_rollups;
DROP TABLE placement_rollups;
DROP TABLE cpu_rollups;
DROP TABLE interrupt_rollups;
DELETE FROM corewait_hot_tables WHERE table_name IN ('wait_rollups', 'placement_rollups', 'cpu_rollups', 'interrupt_rollups');
