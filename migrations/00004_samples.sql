-- What the host did, one row for a node and interval with lists over CPUs: 256
-- CPUs at 1 Hz are 86,400 rows a day and not 22 million.
--
-- at is the true start of the interval, length_us its length. A column of type
-- bytea is a list of packed numbers: corewait_numbers gives it as int8[]. cpus
-- NULL: the CPUs are 0..n-1 without a hole; else element i of the other lists
-- belongs to CPU cpus[i]. Unknown is NULL, as an element too, never 0 or -1.
-- bp: hundredths of a percent, 0..10000. ppm: millionths.

-- +goose Up

-- corewait_numbers gives packed numbers, which store/packed.go describes. No bytes
-- are no numbers.
-- +goose StatementBegin
CREATE FUNCTION corewait_numbers(packed bytea) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    size     int4 := octet_length(packed);
    head     int4;
    unit     int8 := 1;
    base     int8 := 0;
    total    int4;
    field    int8;
    shift    int4;
    at_byte  int4 := 1;
    octet    int4;
    width    int4;
    numbers  int4;
    mask     int8;
    in_group bit varying;
    codes    int8[] := '{}';
    gaps     int8[];
    spread   int8[];
BEGIN
    IF size = 0 THEN
        RETURN codes;
    END IF;
    head := get_byte(packed, 0);
    FOR flag IN 4..6 LOOP
        CONTINUE WHEN head & (1 << flag) = 0;
        field := 0;
        shift := 0;
        LOOP
            octet := get_byte(packed, at_byte);
            at_byte := at_byte + 1;
            field := field | ((octet & 127)::int8 << shift);
            EXIT WHEN octet < 128;
            shift := shift + 7;
        END LOOP;
        CASE flag
            WHEN 4 THEN unit := field;
            WHEN 5 THEN base := ((field >> 1) & 9223372036854775807) # -(field & 1);
            ELSE total := field;
        END CASE;
    END LOOP;
    WHILE at_byte < size LOOP
        octet := get_byte(packed, at_byte);
        at_byte := at_byte + 1;
        width := octet & 31;
        numbers := ((octet >> 5) + 1) * 8;
        IF width = 0 THEN
            codes := codes || array_fill(0::int8, ARRAY[numbers]);
            CONTINUE;
        END IF;
        IF width = 31 THEN
            width := 64;
            mask := -1;
        ELSE
            mask := (1::int8 << width) - 1;
        END IF;
        in_group := ('x' || encode(substring(packed FROM at_byte + 1 FOR width * numbers / 8), 'hex'))::bit varying;
        shift := 64 - width;
        codes := codes || ARRAY(
            SELECT (substring(in_group FROM i FOR width)::bit(64)::int8 >> shift) & mask FROM generate_series(1, numbers * width, width) AS i);
        at_byte := at_byte + width * numbers / 8;
    END LOOP;
    IF head & 64 <> 0 THEN
        numbers := cardinality(codes) / 2;
        gaps := codes[1:numbers];
        codes := codes[numbers + 1:];
    END IF;
    numbers := cardinality(codes) - 7 + (head & 7);
    codes := codes[1:numbers];
    IF head & 8 <> 0 THEN
        codes := ARRAY(SELECT CASE WHEN k = 0 THEN base WHEN k > 1 THEN base + (k - 1) * unit END FROM unnest(codes) AS k);
    ELSIF head & 48 <> 0 THEN
        codes := ARRAY(SELECT base + k * unit FROM unnest(codes) AS k);
    END IF;
    IF head & 64 <> 0 THEN
        spread := array_fill(base, ARRAY[total]);
        at_byte := 0;
        FOR i IN 1..numbers LOOP
            at_byte := at_byte + gaps[i]::int4 + 1;
            spread[at_byte] := codes[i];
        END LOOP;
        codes := spread;
    END IF;
    IF head & 128 <> 0 THEN
        codes := ARRAY(SELECT (sum(step) OVER (ORDER BY i))::int8 FROM unnest(codes) WITH ORDINALITY AS c (step, i) ORDER BY i);
    END IF;
    RETURN codes;
END
$$;
-- +goose StatementEnd

-- Device interrupts other than storage's, by CPU. A row is a run of intervals of
-- the same CPUs, each of which begins where the one before ends, and all of them
-- in the same 10 s of the clock; length_us is that of the run. interval_us: the
-- length of each interval; NULL: they are equally long. counts: those of the first
-- CPU, interval by interval, then those of the second, and so on.
-- wrapped, implausible: counters that wrapped, or that jumped and were left out;
-- such an interval is a row of its own, as is one that is longer than 10 s.
CREATE TABLE interrupt_samples (
    node_id     int4 NOT NULL,
    at          timestamptz NOT NULL,
    length_us   int8 NOT NULL,
    interval_us bytea,
    intervals   int2 NOT NULL,
    cpus        int2[],
    counts      bytea NOT NULL,
    wrapped     int4,
    implausible int4,
    CONSTRAINT pk_interrupt_samples PRIMARY KEY (node_id, at)
);
SELECT corewait_make_kept('interrupt_samples');
SELECT corewait_make_hot('interrupt_samples', 'day', '{node_id}');

-- corewait_intervals gives the intervals of a row of interrupt_samples: how long
-- after the row's begin each begins, its length, and its counts by CPU.
-- +goose StatementBegin
CREATE FUNCTION corewait_intervals(of_length_us int8, of_interval_us bytea, intervals int2, of_counts bytea)
RETURNS TABLE (before_us int8, length_us int8, counts int8[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    numbers int8[] := public.corewait_numbers(of_counts);
    lengths int8[] := public.corewait_numbers(of_interval_us);
BEGIN
    before_us := 0;
    FOR i IN 1..intervals LOOP
        length_us := coalesce(lengths[i], of_length_us / intervals);
        counts := ARRAY(SELECT numbers[at] FROM generate_series(i, cardinality(numbers), intervals) AS at);
        RETURN NEXT;
        before_us := before_us + length_us;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Interrupts by line and CPU, sparse: element i is line line_ids[i] on CPU
-- cpus[i], which is never NULL here. observed_us: how much of the interval the
-- counts cover. untracked: lines left out for the bound on their number.
CREATE TABLE device_samples (
    node_id     int4 NOT NULL,
    at          timestamptz NOT NULL,
    length_us   int8 NOT NULL,
    observed_us int8 NOT NULL,
    line_ids    bytea NOT NULL,
    cpus        bytea NOT NULL,
    counts      bytea NOT NULL,
    untracked   int4,
    CONSTRAINT pk_device_samples PRIMARY KEY (node_id, at)
);
SELECT corewait_make_kept('device_samples');
SELECT corewait_make_hot('device_samples', 'day', '{node_id}');

-- name is the kernel's: NET_RX, TIMER, ... max_per_s: the busiest second or
-- reading within the interval.
CREATE TABLE softirq_samples (
    node_id   int4 NOT NULL,
    name      text NOT NULL,
    at        timestamptz NOT NULL,
    length_us int8 NOT NULL,
    cpus      int2[],
    counts    bytea NOT NULL,
    max_per_s bytea,
    CONSTRAINT pk_softirq_samples PRIMARY KEY (node_id, name, at)
);
SELECT corewait_make_kept('softirq_samples');
SELECT corewait_make_hot('softirq_samples', 'day', '{node_id,name}');

-- Shares of each CPU's time, and of the whole host's (host_). Columns over CPUs
-- but cpus: NULL = unknown on all CPUs, no bytes = zero on all CPUs. rest_bp:
-- what is left of 10000 beside all shares that are known, idle included; nothing
-- or a rounding error, so idle is 10000 less the other shares and this; unknown
-- where idle is. length_us is part of the key: sar's ten minutes and mpstat's
-- second may begin at one instant.
CREATE TABLE cpu_samples (
    node_id            int4 NOT NULL,
    at                 timestamptz NOT NULL,
    length_us          int8 NOT NULL,
    cpus               int2[],
    user_bp            bytea,
    system_bp          bytea,
    irq_bp             bytea,
    softirq_bp         bytea,
    steal_bp           bytea,
    iowait_bp          bytea,
    rest_bp            bytea,
    irq_softirq_max_bp bytea,
    steal_max_bp       bytea,
    busy_max_bp        bytea,
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
    device_ids     bytea NOT NULL,
    reads_per_ks   bytea,
    writes_per_ks  bytea,
    read_await_us  bytea,
    write_await_us bytea,
    queue_x1000    bytea,
    utilisation_bp bytea,
    CONSTRAINT pk_disk_samples PRIMARY KEY (node_id, at, length_us)
);
SELECT corewait_make_kept('disk_samples');
SELECT corewait_make_hot('disk_samples', 'day', '{node_id}');

-- A run of samples of one thread: sample i was read at at + i * period_us +
-- jitter_us[i] (NULL: no jitter); until is the last one's time. run_samples,
-- run_cpu: run-length encoding of the CPU, where run_samples add up to the number
-- of samples. Columns by sample: NULL = unknown in all samples, no bytes = zero in
-- all samples, else one element for each sample. states: 0 S, 1 R, 2 D, of any
-- other its letter's code. interval_us: over how long the values of a
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
    jitter_us         bytea,
    run_samples       bytea NOT NULL,
    run_cpu           bytea NOT NULL,
    states            bytea,
    policy            int2,
    interval_us       bytea,
    first_interval_us int8,
    cpu_share_bp      bytea,
    wait_share_bp     bytea,
    exec_us           bytea,
    run_delay_us      bytea,
    voluntary         bytea,
    involuntary       bytea,
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
DROP FUNCTION corewait_intervals(int8, bytea, int2, bytea);
DROP FUNCTION corewait_numbers(bytea);
DELETE FROM corewait_hot_tables WHERE table_name IN ('placement_samples', 'disk_samples', 'system_samples', 'cpu_samples',
    'softirq_samples', 'device_samples', 'interrupt_samples');
