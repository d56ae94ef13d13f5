package store_test

import (
	"testing"

	"github.com/corewait/corewait/store"
)

// The values that these tests want were added up by hand; each says how.

// rollUp rolls up what lies between two times of the form "2026-11-01 00:00:00".
func (d *database) rollUp(node store.NodeID, from, to string) {
	d.t.Helper()
	if err := d.RollUp(d.t.Context(), node, utc(d.t, from), utc(d.t, to)); err != nil {
		d.t.Fatal(err)
	}
}

// TestRollupsAreWhatAHandAddsUp has one database of each kind for all kinds of
// samples, of which each is in tables of its own.
func TestRollupsAreWhatAHandAddsUp(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		d.partitions(utc(t, "2026-10-31 00:00:00"), utc(t, "2026-11-01 00:00:00"))
		d.exec(`INSERT INTO names (name_id, name) VALUES (1, 'ora_lgwr_X'), (2, 'ora_lg00_X'), (3, 'log file sync'), (4, 'gc cr request')`)
		node := d.node("db1")
		interruptRollupsAddUp(t, d, node)
		cpuRollupsAreMeans(t, d, node)
		placementRollupsCount(t, d, node)
		waitRollupsTakeNoUnknownLength(t, d, node)
	})
}

const interruptRollups = `SELECT to_char(at AT TIME ZONE 'UTC', 'HH24:MI') ||
	format(' %s %s %s %s', observed_us, coalesce(cpus::text, '-'), counts, max_per_s) FROM interrupt_rollups ORDER BY node_id, at`

func interruptRollupsAddUp(t *testing.T, d *database, node store.NodeID) {
	t.Helper()
	other := d.node("db2")
	d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, cpus, counts) VALUES
			($1, '2026-10-31 23:59:50+00', 20000000, 1, NULL,      '[80]'),        -- half of it the day before
			($1, '2026-11-01 00:00:10+00',  1000000, 1, NULL,      '[10,20]'),
			($1, '2026-11-01 00:00:11+00',  1000000, 1, '{0}',     '[30]'),        -- CPU 1 offline
			($1, '2026-11-01 00:00:12+00',  2000000, 1, NULL,      '[40,NULL]'),   -- CPU 1 unknown
			($1, '2026-11-01 00:09:50+00', 20000000, 1, '{0,1,5}', '[100,0,200]'), -- half of it in the next bucket
			($1, '2026-11-01 00:30:00+00',  1000000, 1, NULL,      '[7,NULL]'),
			($2, '2026-11-01 00:00:00+00',  1000000, 1, NULL,      '[999]')`, node, other)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-02 00:00:00")
	// 00:00: observed 10 + 1 + 1 + 2 + 10 s.
	//   CPU 0: 40 + 10 + 30 + 40 + 50 = 170; 30 in the second of 00:00:11.
	//   CPU 1: 20 in the 22 s of 24 in which it is known: 20 * 24/22 = 21.8.
	//   CPU 5: 100; 200 in 20 s are 10/s.
	// 00:10: the second halves. 00:30: nothing is known of CPU 1.
	d.wantLines([]string{
		"00:00 24000000 {0,1,5} {170,22,100} {30,20,10}",
		"00:10 10000000 {0,1,5} {50,0,100} {5,0,10}",
		"00:30 1000000 - {7,NULL} {7,NULL}",
	}, interruptRollups)
}

// TestSecondsThatTwoSpoolsCoverCountOnce: two samples of 2 s that share 1 s cover
// 3 s. Their rate, 60 in 4 s, makes 45 in 3 s.
func TestSecondsThatTwoSpoolsCoverCountOnce(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	d.partitions(utc(t, "2026-11-01 00:00:00"), utc(t, "2026-11-01 00:00:00"))
	d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts) VALUES
		($1, '2026-11-01 00:00:00+00', 2000000, 1, '[20]'), ($1, '2026-11-01 00:00:01+00', 2000000, 1, '[40]')`, node)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-01 00:10:00")
	d.wantLines([]string{"00:00 3000000 - {45} {20}"}, interruptRollups)
}

// TestEachIntervalOfARunCounts: a run from 00:09:58 on holds 1, 0.5 and 3 s; 2 s of
// the third are in the next bucket, with 12 of its 18 and all of what is unknown
// of CPU 1. CPU 0: 10 + 4 + 6 = 20 in 2.5 s, at most 10/s. CPU 1: 5 + 7 in 1.5 of
// 2.5 s, which is 20, at most 14/s. The runs at 00:20 are of intervals of 2 s, of
// which both hold the second: 2 + 6 + 8.
func TestEachIntervalOfARunCounts(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	d.partitions(utc(t, "2026-11-01 00:00:00"), utc(t, "2026-11-01 00:00:00"))
	d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, interval_us, intervals, counts) VALUES
		($1, '2026-11-01 00:09:57.5+00', 4500000, '[1000000,500000,3000000]', 3, '[10,4,18,5,7,NULL]'),
		($1, '2026-11-01 00:20:00+00', 4000000, NULL, 2, '[2,6]'),
		($1, '2026-11-01 00:20:02+00', 4000000, NULL, 2, '[6,8]')`, node)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-01 00:30:00")
	d.wantLines([]string{"00:00 2500000 - {20,20} {10,14}", "00:10 2000000 - {12,NULL} {6,NULL}", "00:20 6000000 - {16} {4}"}, interruptRollups)
}

// TestRollupsOfADayWithGapsSayHowMuchWasObserved: seen are the first 25 minutes,
// and one minute at 13:05.
func TestRollupsOfADayWithGapsSayHowMuchWasObserved(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	d.partitions(utc(t, "2026-11-01 00:00:00"), utc(t, "2026-11-01 00:00:00"))
	d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts)
		SELECT $1::int4, at, 1000000, 1, '[3]'::bytea FROM generate_series('2026-11-01 00:00:00+00', '2026-11-01 00:24:59+00', interval '1 s') AS at
		UNION ALL
		SELECT $1, at, 1000000, 1, '[3]' FROM generate_series('2026-11-01 13:05:00+00', '2026-11-01 13:05:59+00', interval '1 s') AS at`, node)
	d.exec(`INSERT INTO cpu_samples (node_id, at, length_us, host_idle_ppm)
		SELECT node_id, at, 5000000, 900000 FROM interrupt_samples WHERE extract(second FROM at)::int % 5 = 0`)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-02 00:00:00")
	d.wantLines([]string{
		"00:00 600000000 - {1800} {3}",
		"00:10 600000000 - {1800} {3}",
		"00:20 300000000 - {900} {3}",
		"13:00 60000000 - {180} {3}",
	}, interruptRollups)
	// 26 minutes of 1,440.
	d.wantLines([]string{"1560"}, `SELECT (sum(observed_us) / 1000000)::int::text FROM interrupt_rollups`)
	d.wantLines([]string{"1560 100000"}, `SELECT (sum(observed_us) / 1000000)::int || ' ' || max(host_busy_ppm) FROM cpu_rollups`)
}

func cpuRollupsAreMeans(t *testing.T, d *database, node store.NodeID) {
	t.Helper()
	d.exec(`INSERT INTO cpu_samples (node_id, at, length_us, cpus, irq_bp, softirq_bp, steal_bp, iowait_bp, rest_bp,
				irq_softirq_max_bp, steal_max_bp, busy_max_bp, host_system_ppm, host_idle_ppm, host_iowait_ppm) VALUES
			($1, '2026-11-01 00:00:00+00',  5000000, '{0,2}', '[100,NULL]', '[200,NULL]', '[0,40]', '[1000,0]', '[700,960]',
				'[700,NULL]', NULL, '[2000,1500]', 50000, 900000, 20000),
			($1, '2026-11-01 00:00:05+00', 15000000, '{0,2}', NULL, NULL, '[NULL,NULL]', NULL, '[1000,NULL]',
				NULL, NULL, NULL, 10000, NULL, NULL),
			($1, '2026-11-01 00:10:00+00', 60000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 30000, 400000, NULL),
			($1, '2026-11-01 00:20:00+00',  5000000, NULL, '[]', NULL, '[]', '[]', '[2000,0]', '[]', NULL, NULL, NULL, NULL, NULL),
			($1, '2026-11-01 00:30:00+00',  5000000, '{3,4}', '[]', '[10,20]', NULL, NULL, '[9990,9980]', NULL, '[]', NULL, NULL, NULL, NULL)`, node)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-01 01:00:00")
	// CPU 0: busy 1,000 in 5 s and 1,000 in 15 s; irq + softirq 300 and steal 0
	// where known, at most 2,000 and 700 in a second.
	// CPU 2: busy 1,000 in the 5 s that are known, at most 1,500; steal 40.
	// Host: system (50,000 * 5 + 10,000 * 15) / 20 s; busy 80,000 where known.
	// 00:10: of the host alone, as sar gives it. 00:20, 00:30: no bytes are zero on all CPUs.
	d.wantLines([]string{
		"00:00 20000000 {0,2} {1000,1000} {300,NULL} {0,40} {2000,1500} {700,NULL} {0,40} 20000 80000",
		"00:10 60000000 - - - - - - - 30000 600000",
		"00:20 5000000 - {2000,0} {0,0} {0,0} {2000,0} {0,0} {0,0}  ",
		"00:30 5000000 {3,4} {10000,10000} {10,20} {NULL,NULL} {10000,10000} {10,20} {0,0}  ",
	}, `SELECT to_char(at AT TIME ZONE 'UTC', 'HH24:MI') || format(' %s %s %s %s %s %s %s %s %s %s', observed_us, coalesce(cpus::text, '-'),
				coalesce(busy_bp::text, '-'), coalesce(irq_softirq_bp::text, '-'), coalesce(steal_bp::text, '-'), coalesce(busy_max_bp::text, '-'),
				coalesce(irq_softirq_max_bp::text, '-'), coalesce(steal_max_bp::text, '-'), host_system_ppm, host_busy_ppm)
			FROM cpu_rollups ORDER BY at`)
}

func placementRollupsCount(t *testing.T, d *database, node store.NodeID) {
	t.Helper()
	d.exec(`INSERT INTO placement_samples (node_id, command_id, tid, at, until, uncertainty_us, period_us, jitter_us, run_samples, run_cpu) VALUES
			($1, 1, 77, '2026-11-01 00:00:00.0+00', '2026-11-01 00:00:00.2+00', 0, 50000, NULL, '[2,3]', '[3,4]'),
			($1, 1, 77, '2026-11-01 00:09:59.9+00', '2026-11-01 00:10:00.1+00', 0, 50000, '[0,0,-1,0,0]', '[1,4]', '[3,4]'),
			($1, 2, 78, '2026-11-01 00:00:00.0+00', '2026-11-01 00:00:00.0+00', 0, 0, NULL, '[1]', '[9]'),
			($1, 2, 79, '2026-11-01 00:00:00.0+00', '2026-11-01 00:00:00.0+00', 0, 0, NULL, '[1]', '[9]')`, node)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-01 01:00:00")
	// The second run: one sample on CPU 3 at 00:09:59.9; on CPU 4 at 59.95, at
	// 59.999999 for its jitter, at 00:10:00.05 and at 00:10:00.1.
	d.wantLines([]string{"1 00:00 {3,4} {3,5}", "1 00:10 {4} {2}", "2 00:00 {9} {2}"},
		`SELECT command_id || ' ' || to_char(at AT TIME ZONE 'UTC', 'HH24:MI') || format(' %s %s', cpus, samples)
			FROM placement_rollups ORDER BY command_id, at`)
}

func waitRollupsTakeNoUnknownLength(t *testing.T, d *database, node store.NodeID) {
	t.Helper()
	d.exec(`INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us) VALUES
			($1, '2026-11-01 00:00:00+00', 1, 1, 5, 5, 3, false, true, 100000),
			($1, '2026-11-01 00:00:00+00', 1, 1, 6, 5, 3, false, true, 0),       -- not fixed up
			($1, '2026-11-01 00:00:00+00', 1, 1, 7, 5, 3, false, true, NULL),    -- could not be read
			($1, '2026-11-01 00:00:00+00', 1, 1, 8, 5, 0, false, false, 500000), -- on CPU
			($1, '2026-11-01 00:09:59+00', 1, 2, 5, 5, 3, false, true, 250000),
			($1, '2026-11-01 00:10:00+00', 1, 3, 9, 5, 3, false, true, 99999),
			($1, '2026-11-01 00:10:00+00', 2, 3, 9, 5, 4, false, true, NULL)`, node)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-01 01:00:00")
	d.wantLines([]string{"1 3 00:00 4 2 250000 350000", "1 3 00:10 1 0 99999 99999", "2 4 00:10 1 0 - -"},
		`SELECT inst_id || ' ' || event_id || ' ' || to_char(at AT TIME ZONE 'UTC', 'HH24:MI') ||
				format(' %s %s %s %s', rows, over_100ms, coalesce(max_us::text, '-'), coalesce(sum_us::text, '-'))
			FROM wait_rollups ORDER BY inst_id, event_id, at`)
}

// TestRollupsFollowLateSamplesAndKeepWhatRetentionDropped also narrows the time
// to whole buckets: of 00:05 to 00:25 that is 00:10 to 00:20.
func TestRollupsFollowLateSamplesAndKeepWhatRetentionDropped(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	d.partitions(utc(t, "2026-11-01 00:00:00"), utc(t, "2026-11-01 00:00:00"))
	sample := func(at string, count int64) {
		t.Helper()
		d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts) VALUES ($1, $2, 1000000, 1, $3)`, node, utc(t, at), store.Packed([]int64{count}))
	}
	sample("2026-11-01 00:06:00", 1)
	sample("2026-11-01 00:12:00", 2)
	sample("2026-11-01 00:22:00", 4)
	d.rollUp(node, "2026-11-01 00:05:00", "2026-11-01 00:25:00")
	d.wantLines([]string{"00:10 1000000 - {2} {2}"}, interruptRollups)

	sample("2026-11-01 00:13:00", 8)
	for range 2 {
		d.rollUp(node, "2026-11-01 00:10:00", "2026-11-01 00:20:00")
		d.wantLines([]string{"00:10 2000000 - {10} {8}"}, interruptRollups)
	}
	d.exec(`TRUNCATE interrupt_samples`)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-01 01:00:00")
	d.wantLines([]string{"00:10 2000000 - {10} {8}"}, interruptRollups)
}

// TestRollupsMakeTheirMonth: raw partitions of a month exist before those of its
// rollups only if somebody made them by hand; a rollup must not fail for that.
func TestRollupsMakeTheirMonth(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.needsPartitions()
	node := d.node("db1")
	d.partitions(utc(t, "2026-11-01 00:00:00"), utc(t, "2026-11-01 00:00:00"))
	d.exec(`DROP TABLE interrupt_rollups_p202611`)
	d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts) VALUES ($1, '2026-11-01 00:00:00+00', 1000000, 1, '[3]')`, node)
	d.rollUp(node, "2026-11-01 00:00:00", "2026-11-01 00:10:00")
	d.wantLines([]string{"00:00 1000000 - {3} {3}"}, interruptRollups)
}
