-- What the host did, one row for a node and interval with arrays over CPUs: 256
-- CPUs at 1 Hz are 86,400 rows a day and not 22 million.
--
-- at is the true start of the interval, length_us its length. cpus NULL: the
-- CPUs are 0..n-1 without a hole; else element i of the other arrays belongs to
-- CPU cpus[i]. Unknown is NULL, as an element too, never 0 or -1.
-- bp: hundredths of a percent, 0..10000. ppm: millionths.

-- +goose Up

-- Device interrupts other than storage's, by CPU. A row is a run of intervals of
-- the same CPUs, each of which begins where the one before ends, and all of them
-- in the same 10 s of the clock; length_us is that of the run. interval_us: the
-- length of each interval; NULL: they are equally long. counts: those of the first
-- interval's cpu_count CPUs, then those of the second's, and so on.
-- wrapped, implausible: counters that wrapped, or that jumped and were left out;
-- such an interval is a row of its own, as is one that is longer than 10 s.
CREATE TABLE interrupt_samples (
    node_id     int4 NOT NULL,
    at          timestamptz NOT NULL,
    length_us   int8 NOT NULL,
    interval_us int4[],
    cpu_count   int2 NOT NULL,
    cpus        int2[],
    counts      int4[] NOT NULL,
    wrapped     int4,
    implausible int4,
    CONSTRAINT pk_interrupt_samples PRIMARY KEY (node_id, at)
);
SELECT corewait_make_kept('interrupt_samples', wide => '{counts}');
SELECT corewait_make_hot('interrupt_samples', 'day', '{node_id}');

-- Interrupts by line and CPU, sparse: element i is line line_ids[i] on CPU
-- cpus[i], which is never NULL here. observed_us: how much of the interval the
-- counts cover. untracked: lines left out for the bound on their number.
CREATE TABLE device_samples (
    node_id     int4 NOT NULL,
    at          timestamptz NOT NULL,
    length_us   int8 NOT NULL,
    observed_us int8 NOT NULL,
    line_ids    int4[] NOT NULL,
    cpus        int2[] NOT NULL,
    counts      int4[] NOT NULL,
    untracked   int4,
    CONSTRAINT pk_device_samples PRIMARY KEY (node_id, at)
);
SELECT corewait_make_kept('device_samples', wide => '{counts}');
SELECT corewait_make_hot('device_samples', 'day', '{node_id}');

-- name is the kernel's: NET_RX, TIMER, ... max_per_s: the busiest second or
-- reading within the interval.
CREATE TABLE softirq_samples (
    node_id   int4 NOT NULL,
    name      text NOT NULL,
    at        timestamptz NOT NULL,
    length_us int8 NOT NULL,
    cpus      int2[],
    counts    int4[] NOT NULL,
    max_per_s int4[],
    CONSTRAINT pk_softirq_samples PRIMARY KEY (node_id, name, at)
);
SELECT corewait_make_kept('softirq_samples', wide => '{counts}');
SELECT corewait_make_hot('softirq_samples', 'day', '{node_id,name}');

-- Shares of each CPU's time, and of the whole host's (host_). Columns over CPUs
-- but cpus: NULL = unknown on all CPUs, '{}' = zero on all CPUs. length_us is part
-- of the key: sar's ten minutes and mpstat's second may begin at one instant.
CREATE TABLE cpu_samples (
    node_id            int4 NOT NULL,
    at                 timestamptz NOT NULL,
    length_us          int8 NOT NULL,
    cpus               int2[],
    user_bp            int2[],
    system_bp          int2[],
    irq_bp             int2[],
    softirq_bp         int2[],
    steal_bp           int2[],
    iowait_bp          int2[],
    idle_bp            int2[],
    irq_softirq_max_bp int2[],
    steal_max_bp       int2[],
    busy_max_bp        int2[],
    host_user_ppm      int4,
    host_system_ppm    int4,
    host_irq_ppm       int4,
    host_softirq_ppm   int4,
    host_steal_ppm     int4,
    host_iowait_ppm    int4,
    host_idle_ppm      int4,
    CONSTRAINT pk_cpu_samples PRIMARY KEY (node_id, at, length_us)
);
SELECT corewait_make_kept('cpu_samples');
SELECT corewait_make_hot('cpu_samples', 'day', '{node_id}');

-- run_queue_x100, blocked_x100: mean numbers of processes in hundredths.
-- psi_*_us: time in which some task stalled for that resource.
CREATE TABLE system_samples (
    node_id                int4 NOT NULL,
    at                     timestamptz NOT NULL,
    length_us              int8 NOT NULL,
    run_queue_x100         int4,
    run_queue_max          int4,
    blocked_x100           int4,
    swap_in_kib_per_s      int4,
    swap_out_kib_per_s     int4,
    interrupts_per_s       int8,
    context_switches_per_s int8,
    user_ppm               int4,
    system_ppm             int4,
    idle_ppm               int4,
    iowait_ppm             int4,
    steal_ppm              int4,
    time_squeeze           int8,
    psi_cpu_us             int8,
    psi_io_us              int8,
    psi_memory_us          int8,
    CONSTRAINT pk_system_samples PRIMARY KEY (node_id, at, length_us)
);
SELECT corewait_make_kept('system_samples');
SELECT corewait_make_hot('system_samples', 'day', '{node_id}');

-- device_ids are name_ids. per_ks: per 1,000 s, so that one write in ten minutes
-- is not 0. queue_x1000: mean length in thousandths.
CREATE TABLE disk_samples (
    node_id        int4 NOT NULL,
    at             timestamptz NOT NULL,
    length_us      int8 NOT NULL,
    device_ids     int4[] NOT NULL,
    reads_per_ks   int8[],
    writes_per_ks  int8[],
    read_await_us  int8[],
    write_await_us int8[],
    queue_x1000    int4[],
    utilisation_bp int2[],
    CONSTRAINT pk_disk_samples PRIMARY KEY (node_id, at, length_us)
);
SELECT corewait_make_kept('disk_samples');
SELECT corewait_make_hot('disk_samples', 'day', '{node_id}');

-- A run of samples of one thread: sample i was read at at + i * period_us +
-- jitter_us[i] (NULL: no jitter); until is the last one's time. run_samples,
-- run_cpu, run_state: run-length encoding of (CPU, state), where run_samples add
-- up to the number of samples; a state is its letter's code, NULL unknown.
-- Columns by sample: NULL = unknown in all samples, '{}' = zero in all samples,
-- else one element for each sample. interval_us: over how long the values of a
-- sample are; where first_interval_us is known, that of the first sample is this,
-- that of each other one the time since the sample before, and interval_us is NULL.
-- command_id is a name_id.
CREATE TABLE placement_samples (
    node_id           int4 NOT NULL,
    command_id        int4 NOT NULL,
    tid               int4 NOT NULL,
    at                timestamptz NOT NULL,
    until             timestamptz NOT NULL,
    uncertainty_us    int4 NOT NULL,
    period_us         int4 NOT NULL,
    jitter_us         int2[],
    run_samples       int2[] NOT NULL,
    run_cpu           int2[] NOT NULL,
    run_state         int2[],
    policy            int2,
    interval_us       int8[],
    first_interval_us int8,
    cpu_share_bp      int2[],
    wait_share_bp     int2[],
    exec_us           int4[],
    run_delay_us      int4[],
    voluntary         int4[],
    involuntary       int4[],
    CONSTRAINT pk_placement_samples PRIMARY KEY (node_id, command_id, tid, at)
);
SELECT corewait_make_kept('placement_samples');
SELECT corewait_make_hot('placement_samples', 'day', '{node_id,command_id,tid}');

-- +goose Down
DROP TABLE kept_placement_samples;
DROP TABLE placement_samples;
DROP TABLE kept_disk_samples;
DROP TABLE disk_samples;
DROP TABLE kept_system_samples;
DROP TABLE system_samples;
DROP TABLE kept_cpu_samples;
DROP TABLE cpu_samples;
DROP TABLE kept_softirq_samples;
DROP TABLE softirq_samples;
DROP TABLE kept_device_samples;
DROP TABLE device_samples;
DROP TABLE kept_interrupt_samples;
DROP TABLE interrupt_samples;
DELETE FROM corewait_hot_tables WHERE table_name IN ('placement_samples', 'disk_samples', 'system_samples', 'cpu_samples',
    'softirq_samples', 'device_samples', 'interrupt_samples');
