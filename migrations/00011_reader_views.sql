-- What Grafana shows: one row for a time and CPU, device or session, names
-- instead of numbers, and units that people read. Filter on time: it is the
-- table's own column, so that partitions out of the range are not read. Times are
-- interval starts. pct: percent; of one CPU's time, or of all CPUs' in hosts.

-- +goose Up
CREATE SCHEMA corewait_reader;
GRANT USAGE ON SCHEMA corewait_reader TO corewait_reader;

CREATE VIEW corewait_reader.instances AS
SELECT n.name AS node, i.inst_id, i.name AS instance, i.host, i.database, i.first_seen, i.last_seen
FROM public.instances i JOIN public.nodes n USING (node_id)
WHERE i.collection_id = 0;

-- time is the begin of the run of intervals that the interval is in: filter on it,
-- from 10 s before. from_time is the interval's own begin.
CREATE VIEW corewait_reader.interrupts AS
SELECT s.at AS time, n.name AS node, s.at + e.before_us * interval '1 microsecond' AS from_time,
       coalesce(s.cpus[c.i], c.i - 1)::int4 AS cpu, c.count * 1e6::float8 / nullif(e.length_us, 0) AS per_s
FROM public.interrupt_samples s
JOIN public.nodes n USING (node_id)
CROSS JOIN LATERAL public.corewait_intervals(s.length_us, s.interval_us, s.intervals, s.counts) AS e
CROSS JOIN LATERAL unnest(e.counts) WITH ORDINALITY AS c (count, i);

CREATE VIEW corewait_reader.device_interrupts AS
SELECT s.at AS time, n.name AS node, l.irq, l.device,
       CASE l.class WHEN 1 THEN 'network' WHEN 2 THEN 'storage' WHEN 3 THEN 'kernel' ELSE 'other' END AS class,
       c.cpu::int4 AS cpu, c.count * 1e6::float8 / nullif(s.observed_us, 0) AS per_s
FROM public.device_samples s
JOIN public.nodes n USING (node_id)
CROSS JOIN LATERAL unnest(public.corewait_numbers(s.line_ids), public.corewait_numbers(s.cpus), public.corewait_numbers(s.counts))
    AS c (line_id, cpu, count)
JOIN public.interrupt_lines l ON l.node_id = s.node_id AND l.line_id = c.line_id;

CREATE VIEW corewait_reader.softirqs AS
SELECT s.at AS time, n.name AS node, s.name AS softirq, coalesce(s.cpus[c.i], c.i - 1)::int4 AS cpu,
       c.count * 1e6::float8 / nullif(s.length_us, 0) AS per_s, c.max_per_s
FROM public.softirq_samples s
JOIN public.nodes n USING (node_id)
CROSS JOIN LATERAL unnest(public.corewait_numbers(s.counts), public.corewait_numbers(s.max_per_s)) WITH ORDINALITY AS c (count, max_per_s, i);

CREATE VIEW corewait_reader.cpus AS
SELECT c.time, c.node, c.cpu, c.user_bp / 1e2::float8 AS user_pct, c.system_bp / 1e2::float8 AS system_pct, c.irq_bp / 1e2::float8 AS irq_pct,
       c.softirq_bp / 1e2::float8 AS softirq_pct, c.steal_bp / 1e2::float8 AS steal_pct, c.iowait_bp / 1e2::float8 AS iowait_pct,
       (10000 - c.rest_bp - coalesce(c.user_bp, 0) - coalesce(c.system_bp, 0) - coalesce(c.irq_bp, 0) - coalesce(c.softirq_bp, 0)
           - coalesce(c.steal_bp, 0) - coalesce(c.iowait_bp, 0)) / 1e2::float8 AS idle_pct,
       c.irq_softirq_max_bp / 1e2::float8 AS irq_softirq_max_pct, c.steal_max_bp / 1e2::float8 AS steal_max_pct,
       c.busy_max_bp / 1e2::float8 AS busy_max_pct
FROM (
    SELECT s.at AS time, n.name AS node, coalesce(c.cpu, c.i - 1)::int4 AS cpu,
           CASE WHEN s.user_bp = '' THEN 0 ELSE c.user_bp END AS user_bp,
           CASE WHEN s.system_bp = '' THEN 0 ELSE c.system_bp END AS system_bp,
           CASE WHEN s.irq_bp = '' THEN 0 ELSE c.irq_bp END AS irq_bp,
           CASE WHEN s.softirq_bp = '' THEN 0 ELSE c.softirq_bp END AS softirq_bp,
           CASE WHEN s.steal_bp = '' THEN 0 ELSE c.steal_bp END AS steal_bp,
           CASE WHEN s.iowait_bp = '' THEN 0 ELSE c.iowait_bp END AS iowait_bp,
           CASE WHEN s.rest_bp = '' THEN 0 ELSE c.rest_bp END AS rest_bp,
           CASE WHEN s.irq_softirq_max_bp = '' THEN 0 ELSE c.irq_softirq_max_bp END AS irq_softirq_max_bp,
           CASE WHEN s.steal_max_bp = '' THEN 0 ELSE c.steal_max_bp END AS steal_max_bp,
           CASE WHEN s.busy_max_bp = '' THEN 0 ELSE c.busy_max_bp END AS busy_max_bp
    FROM public.cpu_samples s
    JOIN public.nodes n USING (node_id)
    CROSS JOIN LATERAL unnest(
        public.corewait_numbers(s.user_bp), public.corewait_numbers(s.system_bp), public.corewait_numbers(s.irq_bp),
        public.corewait_numbers(s.softirq_bp), public.corewait_numbers(s.steal_bp), public.corewait_numbers(s.iowait_bp),
        public.corewait_numbers(s.rest_bp), public.corewait_numbers(s.irq_softirq_max_bp), public.corewait_numbers(s.steal_max_bp),
        public.corewait_numbers(s.busy_max_bp), s.cpus) WITH ORDINALITY
        AS c (user_bp, system_bp, irq_bp, softirq_bp, steal_bp, iowait_bp, rest_bp, irq_softirq_max_bp, steal_max_bp, busy_max_bp, cpu, i)
) AS c;

CREATE VIEW corewait_reader.hosts AS
SELECT s.at AS time, n.name AS node, s.host_user_ppm / 1e4::float8 AS user_pct, s.host_system_ppm / 1e4::float8 AS system_pct,
       s.host_irq_ppm / 1e4::float8 AS irq_pct, s.host_softirq_ppm / 1e4::float8 AS softirq_pct,
       s.host_steal_ppm / 1e4::float8 AS steal_pct, s.host_iowait_ppm / 1e4::float8 AS iowait_pct,
       s.host_idle_ppm / 1e4::float8 AS idle_pct
FROM public.cpu_samples s JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.systems AS
SELECT s.at AS time, n.name AS node, s.run_queue_x100 / 1e2::float8 AS run_queue, s.run_queue_max,
       s.blocked_x100 / 1e2::float8 AS blocked, s.swap_in_kib_per_s, s.swap_out_kib_per_s, s.interrupts_per_s,
       s.context_switches_per_s, s.time_squeeze, s.psi_cpu_us * 1e2::float8 / nullif(s.length_us, 0) AS psi_cpu_pct,
       s.psi_io_us * 1e2::float8 / nullif(s.length_us, 0) AS psi_io_pct,
       s.psi_memory_us * 1e2::float8 / nullif(s.length_us, 0) AS psi_memory_pct
FROM public.system_samples s JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.disks AS
SELECT s.at AS time, n.name AS node, d.name AS device, c.reads_per_ks / 1e3::float8 AS reads_per_s,
       c.writes_per_ks / 1e3::float8 AS writes_per_s, c.read_await_us / 1e3::float8 AS read_await_ms,
       c.write_await_us / 1e3::float8 AS write_await_ms, c.queue_x1000 / 1e3::float8 AS queue_size,
       c.utilisation_bp / 1e2::float8 AS utilisation_pct
FROM public.disk_samples s
JOIN public.nodes n USING (node_id)
CROSS JOIN LATERAL unnest(
    public.corewait_numbers(s.device_ids), public.corewait_numbers(s.reads_per_ks), public.corewait_numbers(s.writes_per_ks),
    public.corewait_numbers(s.read_await_us), public.corewait_numbers(s.write_await_us), public.corewait_numbers(s.queue_x1000),
    public.corewait_numbers(s.utilisation_bp)) AS c (device_id, reads_per_ks, writes_per_ks, read_await_us, write_await_us, queue_x1000, utilisation_bp)
JOIN public.names d ON d.name_id = c.device_id;

-- One row for a stretch of samples on one CPU in one state. time and until are
-- those of the run of samples that the stretch is in: filter on them. from_time
-- is the stretch's own begin, to the jitter of a sample.
CREATE VIEW corewait_reader.placements AS
SELECT s.at AS time, s.until, n.name AS node, p.name AS command, s.tid,
       s.at + c.samples_before * s.period_us * interval '1 microsecond' AS from_time,
       c.cpu::int4 AS cpu, CASE c.state WHEN 0 THEN 'S' WHEN 1 THEN 'R' WHEN 2 THEN 'D' ELSE chr(c.state::int4) END AS state, c.samples
FROM public.placement_samples s
JOIN public.nodes n USING (node_id)
JOIN public.names p ON p.name_id = s.command_id
CROSS JOIN LATERAL public.corewait_numbers(s.states) AS t (states)
CROSS JOIN LATERAL (
    SELECT min(i) - 1 AS samples_before, count(*)::int4 AS samples, cpu, state
    FROM (
        SELECT i, cpu, state, i - row_number() OVER (PARTITION BY cpu, state ORDER BY i) AS stretch
        FROM (
            SELECT i, cpu, CASE WHEN s.states = '' THEN 0 ELSE t.states[i] END AS state
            FROM (
                SELECT row_number() OVER (ORDER BY r.i) AS i, r.cpu
                FROM unnest(public.corewait_numbers(s.run_cpu), public.corewait_numbers(s.run_samples)) WITH ORDINALITY AS r (cpu, samples, i)
                CROSS JOIN generate_series(1, r.samples)
            ) AS placed
        ) AS samples
    ) AS stretches
    GROUP BY cpu, state, stretch
) AS c;

CREATE VIEW corewait_reader.waits AS
SELECT w.at AS time, n.name AS node, nullif(w.inst_id, -1) AS inst_id, CASE WHEN w.session_id >= 0 THEN w.session_id END AS session_id,
       w.serial, e.name AS event, w.background, w.waiting, nullif(w.time_waited_us, 0) / 1e3::float8 AS waited_ms,
       w.sql_id, w.program, w.module, w.machine, w.service
FROM public.waits w
JOIN public.nodes n USING (node_id)
JOIN public.names e ON e.name_id = w.event_id;

CREATE VIEW corewait_reader.sql_timings AS
SELECT s.at AS time, s.length_us / 1e6::float8 AS length_s, n.name AS node, nullif(s.inst_id, -1) AS inst_id, s.sql_id, s.plan_hash,
       s.executions, s.elapsed_us / 1e3::float8 / nullif(s.executions, 0) AS elapsed_ms_per_execution,
       s.cpu_us / 1e3::float8 / nullif(s.executions, 0) AS cpu_ms_per_execution, s.buffer_gets, s.disk_reads, s.rows_processed, s.module
FROM public.sql_timings s JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.coverage_gaps AS
SELECT g.at AS time, g.until, n.name AS node, g.source, g.reason, g.events
FROM public.coverage_gaps g JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.node_events AS
SELECT e.at AS time, n.name AS node, e.kind, e.subject, e.detail
FROM public.node_events e JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.interrupt_rollups AS
SELECT r.at AS time, n.name AS node, coalesce(r.cpus[c.i], c.i - 1)::int4 AS cpu,
       c.count * 1e6::float8 / nullif(r.observed_us, 0) AS per_s, r.max_per_s[c.i] AS max_per_s
FROM public.interrupt_rollups r
JOIN public.nodes n USING (node_id)
CROSS JOIN LATERAL unnest(r.counts) WITH ORDINALITY AS c (count, i);

CREATE VIEW corewait_reader.cpu_rollups AS
SELECT r.at AS time, n.name AS node, coalesce(r.cpus[c.i], c.i - 1)::int4 AS cpu,
       c.busy_bp / 1e2::float8 AS busy_pct, c.irq_softirq_bp / 1e2::float8 AS irq_softirq_pct, c.steal_bp / 1e2::float8 AS steal_pct,
       c.busy_max_bp / 1e2::float8 AS busy_max_pct, c.irq_softirq_max_bp / 1e2::float8 AS irq_softirq_max_pct,
       c.steal_max_bp / 1e2::float8 AS steal_max_pct
FROM public.cpu_rollups r
JOIN public.nodes n USING (node_id)
CROSS JOIN LATERAL unnest(r.busy_bp, r.irq_softirq_bp, r.steal_bp, r.busy_max_bp, r.irq_softirq_max_bp, r.steal_max_bp)
    WITH ORDINALITY AS c (busy_bp, irq_softirq_bp, steal_bp, busy_max_bp, irq_softirq_max_bp, steal_max_bp, i);

CREATE VIEW corewait_reader.placement_rollups AS
SELECT r.at AS time, n.name AS node, p.name AS command, coalesce(r.cpus[c.i], c.i - 1)::int4 AS cpu, c.samples
FROM public.placement_rollups r
JOIN public.nodes n USING (node_id)
JOIN public.names p ON p.name_id = r.command_id
CROSS JOIN LATERAL unnest(r.samples) WITH ORDINALITY AS c (samples, i);

CREATE VIEW corewait_reader.wait_rollups AS
SELECT r.at AS time, n.name AS node, nullif(r.inst_id, -1) AS inst_id, e.name AS event, r.rows AS waits, r.over_100ms,
       r.max_us / 1e3::float8 AS max_ms, r.sum_us / 1e3::float8 AS sum_ms
FROM public.wait_rollups r
JOIN public.nodes n USING (node_id)
JOIN public.names e ON e.name_id = r.event_id;

CREATE VIEW corewait_reader.tallies AS
SELECT t.at AS time, n.name AS node, t.instance, t.watch, t.observed_s, t.exposed_s, t.stalls, t.stalls_exposed,
       t.waits_low, t.waits_high, t.max_us / 1e3::float8 AS max_ms
FROM public.tallies t JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.stalls AS
SELECT s.at AS time, n.name AS node, s.instance, s.watch, s.longest_us / 1e3::float8 AS longest_ms, s.waiters, s.exposure
FROM public.stalls s JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.changes AS
SELECT c.at AS time, n.name AS node, c.title, c.detail, c.recorded_at, c.recorded_by
FROM public.changes c LEFT JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.incidents AS
SELECT i.from_at AS time, i.to_at AS until, n.name AS node, i.instance, i.watch, i.incident_id, i.stalls, i.state, i.created_at, i.dismissed_at
FROM public.incidents i JOIN public.nodes n USING (node_id);

CREATE VIEW corewait_reader.findings AS
SELECT f.from_at AS time, f.to_at AS until, n.name AS node, f.instance, f.finding_id, f.watch, f.scope, f.verdict, f.grade,
       f.document ->> 'headline' AS headline, f.created_at, f.revision,
       f.incident_id, f.fleet_p, f.fleet_q, f.fleet_tests, f.fleet_accepted
FROM public.findings f JOIN public.nodes n USING (node_id);

GRANT SELECT ON ALL TABLES IN SCHEMA corewait_reader TO corewait_reader, corewait_writer;
GRANT USAGE ON SCHEMA corewait_reader TO corewait_writer;

-- +goose Down
DROP VIEW corewait_reader.instances, corewait_reader.interrupts, corewait_reader.device_interrupts, corewait_reader.softirqs,
    corewait_reader.cpus, corewait_reader.hosts, corewait_reader.systems, corewait_reader.disks, corewait_reader.placements,
    corewait_reader.waits, corewait_reader.sql_timings, corewait_reader.coverage_gaps, corewait_reader.node_events, corewait_reader.interrupt_rollups,
    corewait_reader.cpu_rollups, corewait_reader.placement_rollups, corewait_reader.wait_rollups, corewait_reader.tallies, corewait_reader.stalls,
    corewait_reader.changes, corewait_reader.incidents, corewait_reader.findings;
DROP SCHEMA corewait_reader;
