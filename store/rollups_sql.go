package store

// The statements of RollUp. $1 is the node, [$2, $3) a stretch of whole buckets;
// every statement may run again and then gives the same rows.
//
// A sample counts in each bucket that it overlaps, by the part that lies in it; at
// most longestLive of it lies before. date_bin counts from a fixed instant: no
// zone of a session moves a bucket.

// rollUpInterrupts adds up what the interrupt counters gained. Of intervals with
// the same begin that of the first row counts, as in Feed.
//
// observed_us is the time that at least one sample covers. A CPU that a sample
// does not list was offline and had none; one whose count is unknown had as many
// as in the time in which it was known. So the counts are those of observed_us,
// also where two spools of one node cover the same seconds.
const rollUpInterrupts = `
WITH intervals AS (
    SELECT DISTINCT ON (begins) s.at + e.before_us * interval '1 microsecond' AS begins, e.length_us, s.cpus, e.counts
    FROM interrupt_samples s
    CROSS JOIN LATERAL corewait_intervals(s.length_us, s.interval_us, s.intervals, s.counts) AS e
    WHERE s.node_id = $1 AND s.at >= $2::timestamptz - interval '1 hour' AND s.at < $3
    ORDER BY begins, s.at
), pieces AS (
    SELECT b.bucket, s.cpus, s.counts, s.length_us,
           greatest(s.begins, b.bucket) AS from_at,
           least(s.begins + s.length_us * interval '1 microsecond', b.bucket + interval '10 minutes') AS to_at
    FROM intervals s
    CROSS JOIN LATERAL generate_series(
        date_bin('10 minutes', s.begins, '2000-01-01 00:00:00+00'),
        s.begins + (s.length_us - 1) * interval '1 microsecond', interval '10 minutes') AS b (bucket)
    WHERE s.length_us > 0 AND b.bucket >= $2 AND b.bucket < $3
), timed AS (
    SELECT bucket, cpus, counts, length_us, extract(epoch FROM to_at - from_at)::float8 * 1e6 AS piece_us FROM pieces
), observed AS (
    SELECT bucket, sum(extract(epoch FROM upper(r) - lower(r)) * 1000000) AS us
    FROM (SELECT bucket, unnest(range_agg(tstzrange(from_at, to_at))) AS r FROM pieces GROUP BY bucket) AS stretches
    GROUP BY bucket
), totals AS (
    SELECT bucket, sum(piece_us) AS us FROM timed GROUP BY bucket
), gains AS (
    SELECT t.bucket, coalesce(c.cpu, c.i - 1) AS cpu, sum(c.count * (t.piece_us / t.length_us)) AS gained,
           coalesce(sum(t.piece_us) FILTER (WHERE c.count IS NULL), 0) AS unknown_us,
           max(c.count * 1e6::float8 / t.length_us) AS max_per_s
    FROM timed t
    CROSS JOIN LATERAL unnest(t.counts, t.cpus) WITH ORDINALITY AS c (count, cpu, i)
    GROUP BY 1, 2
)
INSERT INTO interrupt_rollups AS kept (node_id, at, observed_us, cpus, counts, max_per_s)
SELECT $1, g.bucket, o.us::int8,
       CASE WHEN max(g.cpu) >= count(*) THEN array_agg(g.cpu::int2 ORDER BY g.cpu) END,
       array_agg(round(g.gained * (o.us::float8 / nullif(t.us - g.unknown_us, 0)))::int8 ORDER BY g.cpu),
       array_agg(round(g.max_per_s)::int4 ORDER BY g.cpu)
FROM gains g JOIN observed o USING (bucket) JOIN totals t USING (bucket)
GROUP BY g.bucket, o.us
ON CONFLICT (node_id, at) DO UPDATE
SET observed_us = excluded.observed_us, cpus = excluded.cpus, counts = excluded.counts, max_per_s = excluded.max_per_s`

// rollUpCPUTime gives means by time, of the time in which a share was known, and
// the greatest shares of any second; where samples were observed as a whole,
// their own shares are the greatest known. Busy is neither idle nor waiting for
// I/O; a column that was not printed is left out.
const rollUpCPUTime = `
WITH pieces AS (
    SELECT b.bucket, s.*, greatest(s.at, b.bucket) AS from_at,
           least(s.at + s.length_us * interval '1 microsecond', b.bucket + interval '10 minutes') AS to_at
    FROM cpu_samples s
    CROSS JOIN LATERAL generate_series(
        date_bin('10 minutes', s.at, '2000-01-01 00:00:00+00'),
        s.at + (s.length_us - 1) * interval '1 microsecond', interval '10 minutes') AS b (bucket)
    WHERE s.node_id = $1 AND s.at >= $2::timestamptz - interval '1 hour' AND s.at < $3 AND s.length_us > 0
      AND b.bucket >= $2 AND b.bucket < $3
), timed AS (
    SELECT p.*, extract(epoch FROM to_at - from_at)::float8 AS weight,
           CASE WHEN host_idle_ppm IS NOT NULL THEN greatest(1000000 - host_idle_ppm - coalesce(host_iowait_ppm, 0), 0) END AS host_busy_ppm
    FROM pieces p
), observed AS (
    SELECT bucket, sum(extract(epoch FROM upper(r) - lower(r)) * 1000000) AS us
    FROM (SELECT bucket, unnest(range_agg(tstzrange(from_at, to_at))) AS r FROM pieces GROUP BY bucket) AS stretches
    GROUP BY bucket
), hosts AS (
    SELECT bucket, sum(host_system_ppm * weight) / sum(weight) FILTER (WHERE host_system_ppm IS NOT NULL) AS system_ppm,
           sum(host_busy_ppm * weight) / sum(weight) FILTER (WHERE host_busy_ppm IS NOT NULL) AS busy_ppm
    FROM timed GROUP BY bucket
), known AS ( -- no bytes are zero on every CPU
    SELECT t.bucket, t.weight, coalesce(c.cpu, c.i - 1) AS cpu,
           CASE WHEN t.user_bp = '' THEN 0 ELSE c.user_time END AS user_time,
           CASE WHEN t.system_bp = '' THEN 0 ELSE c.system END AS system,
           CASE WHEN t.irq_bp = '' THEN 0 ELSE c.irq END AS irq,
           CASE WHEN t.softirq_bp = '' THEN 0 ELSE c.softirq END AS softirq,
           CASE WHEN t.steal_bp = '' THEN 0 ELSE c.steal END AS steal,
           CASE WHEN t.iowait_bp = '' THEN 0 ELSE c.iowait END AS iowait,
           CASE WHEN t.rest_bp = '' THEN 0 ELSE c.rest END AS rest,
           CASE WHEN t.irq_softirq_max_bp = '' THEN 0 ELSE c.irq_softirq_max END AS irq_softirq_max,
           CASE WHEN t.steal_max_bp = '' THEN 0 ELSE c.steal_max END AS steal_max,
           CASE WHEN t.busy_max_bp = '' THEN 0 ELSE c.busy_max END AS busy_max
    FROM timed t
    CROSS JOIN LATERAL unnest(corewait_numbers(t.user_bp), corewait_numbers(t.system_bp), corewait_numbers(t.irq_bp), corewait_numbers(t.softirq_bp),
        corewait_numbers(t.steal_bp), corewait_numbers(t.iowait_bp), corewait_numbers(t.rest_bp), corewait_numbers(t.irq_softirq_max_bp),
        corewait_numbers(t.steal_max_bp), corewait_numbers(t.busy_max_bp), t.cpus) WITH ORDINALITY
        AS c (user_time, system, irq, softirq, steal, iowait, rest, irq_softirq_max, steal_max, busy_max, cpu, i)
), shares AS (
    SELECT bucket, weight, cpu, steal, irq_softirq_max, steal_max, busy_max,
           CASE WHEN rest IS NOT NULL THEN greatest(
               rest + coalesce(user_time, 0) + coalesce(system, 0) + coalesce(irq, 0) + coalesce(softirq, 0) + coalesce(steal, 0), 0) END AS busy,
           CASE WHEN irq IS NOT NULL OR softirq IS NOT NULL THEN coalesce(irq, 0) + coalesce(softirq, 0) END AS irq_softirq
    FROM known
), cpus AS (
    SELECT bucket, cpu,
           sum(busy * weight) / sum(weight) FILTER (WHERE busy IS NOT NULL) AS busy,
           sum(irq_softirq * weight) / sum(weight) FILTER (WHERE irq_softirq IS NOT NULL) AS irq_softirq,
           sum(steal * weight) / sum(weight) FILTER (WHERE steal IS NOT NULL) AS steal,
           max(coalesce(busy_max, busy)) AS busy_max,
           max(coalesce(irq_softirq_max, irq_softirq)) AS irq_softirq_max,
           max(coalesce(steal_max, steal)) AS steal_max
    FROM shares GROUP BY 1, 2
), arrays AS (
    SELECT bucket, CASE WHEN max(cpu) >= count(*) THEN array_agg(cpu::int2 ORDER BY cpu) END AS cpus,
           array_agg(round(busy)::int2 ORDER BY cpu) AS busy, array_agg(round(irq_softirq)::int2 ORDER BY cpu) AS irq_softirq,
           array_agg(round(steal)::int2 ORDER BY cpu) AS steal, array_agg(busy_max::int2 ORDER BY cpu) AS busy_max,
           array_agg(irq_softirq_max::int2 ORDER BY cpu) AS irq_softirq_max, array_agg(steal_max::int2 ORDER BY cpu) AS steal_max
    FROM cpus GROUP BY bucket
)
INSERT INTO cpu_rollups (node_id, at, observed_us, cpus, busy_bp, irq_softirq_bp, steal_bp, busy_max_bp,
    irq_softirq_max_bp, steal_max_bp, host_system_ppm, host_busy_ppm)
SELECT $1, o.bucket, o.us::int8, a.cpus, a.busy, a.irq_softirq, a.steal, a.busy_max,
       a.irq_softirq_max, a.steal_max, round(h.system_ppm)::int4, round(h.busy_ppm)::int4
FROM observed o JOIN hosts h USING (bucket) LEFT JOIN arrays a USING (bucket)
ON CONFLICT (node_id, at) DO UPDATE
SET observed_us = excluded.observed_us, cpus = excluded.cpus, busy_bp = excluded.busy_bp, irq_softirq_bp = excluded.irq_softirq_bp,
    steal_bp = excluded.steal_bp, busy_max_bp = excluded.busy_max_bp, irq_softirq_max_bp = excluded.irq_softirq_max_bp,
    steal_max_bp = excluded.steal_max_bp, host_system_ppm = excluded.host_system_ppm, host_busy_ppm = excluded.host_busy_ppm`

// rollUpPlacement counts the samples of a command's threads by CPU. A run of
// samples within one bucket counts by its run lengths, one that crosses an edge
// sample by sample.
const rollUpPlacement = `
WITH runs AS (
    SELECT p.command_id, p.at, p.period_us, p.jitter_us, r.cpu, r.samples::int4 AS samples,
           date_bin('10 minutes', p.at, '2000-01-01 00:00:00+00') AS bucket,
           date_bin('10 minutes', p.until, '2000-01-01 00:00:00+00') AS until_bucket,
           sum(r.samples::int4) OVER (PARTITION BY p.command_id, p.tid, p.at ORDER BY r.i) - r.samples AS before
    FROM placement_samples p
    CROSS JOIN LATERAL unnest(corewait_numbers(p.run_cpu), corewait_numbers(p.run_samples)) WITH ORDINALITY AS r (cpu, samples, i)
    WHERE p.node_id = $1 AND p.at >= $2::timestamptz - interval '1 hour' AND p.at < $3 AND p.until >= $2
), counted AS (
    SELECT command_id, bucket, cpu, sum(samples) AS samples
    FROM runs WHERE bucket = until_bucket GROUP BY 1, 2, 3
    UNION ALL
    SELECT r.command_id, date_bin('10 minutes', r.at + ((r.before + n) * r.period_us + coalesce(j.us[r.before + n + 1], 0))
               * interval '1 microsecond', '2000-01-01 00:00:00+00'), r.cpu, count(*)
    FROM runs r CROSS JOIN LATERAL corewait_numbers(r.jitter_us) AS j (us) CROSS JOIN LATERAL generate_series(0, r.samples - 1) AS n
    WHERE r.bucket <> r.until_bucket GROUP BY 1, 2, 3
), cpus AS (
    SELECT command_id, bucket, cpu, sum(samples)::int4 AS samples FROM counted
    WHERE bucket >= $2 AND bucket < $3 AND cpu >= 0 GROUP BY 1, 2, 3
)
INSERT INTO placement_rollups (node_id, command_id, at, cpus, samples)
SELECT $1, command_id, bucket, array_agg(cpu::int2 ORDER BY cpu), array_agg(samples ORDER BY cpu)
FROM cpus GROUP BY command_id, bucket
ON CONFLICT (node_id, command_id, at) DO UPDATE SET cpus = excluded.cpus, samples = excluded.samples`

// rollUpWaits counts the waits seen. Lengths that are not fixed up (0) or could
// not be read (NULL) are not lengths.
//
//nolint:gosec // holds no credentials
const rollUpWaits = `
INSERT INTO wait_rollups (node_id, inst_id, event_id, at, rows, over_100ms, max_us, sum_us)
SELECT $1, inst_id, event_id, date_bin('10 minutes', at, '2000-01-01 00:00:00+00'), count(*),
       count(*) FILTER (WHERE time_waited_us >= 100000),
       max(time_waited_us) FILTER (WHERE time_waited_us > 0), sum(time_waited_us) FILTER (WHERE time_waited_us > 0)
FROM waits
WHERE node_id = $1 AND at >= $2 AND at < $3 AND waiting AND event_id <> 0
GROUP BY 2, 3, 4
ON CONFLICT (node_id, inst_id, event_id, at) DO UPDATE
SET rows = excluded.rows, over_100ms = excluded.over_100ms, max_us = excluded.max_us, sum_us = excluded.sum_us`
