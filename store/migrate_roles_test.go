package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const insufficientPrivilege = "42501" // SQLSTATE

// login names a login of the test's own: roles belong to the server, which other
// tests share.
func login(conn *pgx.Conn, role string) string {
	return pgx.Identifier{conn.Config().Database + "_" + role}.Sanitize()
}

// as does what follows with the rights of a login that is a member of the role,
// instead of those of the superuser who is connected.
func as(t *testing.T, conn *pgx.Conn, role string) {
	t.Helper()
	run(t, conn, "RESET ROLE", "CREATE ROLE "+login(conn, role)+" LOGIN IN ROLE "+role, "SET ROLE "+login(conn, role))
}

func refused(t *testing.T, conn *pgx.Conn, role string, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := conn.Exec(t.Context(), s)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != insufficientPrivilege {
			t.Errorf("%s: %s: error %v, want that it may not", role, s, err)
		}
	}
}

// fillEveryTable gives each reader view at least one row to show.
var fillEveryTable = []string{
	`INSERT INTO nodes (node_id, name) OVERRIDING SYSTEM VALUE VALUES (7, 'db1')`,
	`INSERT INTO names (name_id, name) VALUES (40, 'log file sync'), (41, 'ora_lgwr_ORDP1'), (42, 'sda')`,
	`INSERT INTO instances VALUES (7, 1, 'ORDP1', 'db1', 'ORDP', '2026-06-16Z', '2026-06-17Z')`,
	`INSERT INTO interrupt_lines VALUES (7, 3, '120', 'ens3f0', 1)`,
	`INSERT INTO interrupt_samples VALUES (7, '2026-06-16 09:00Z', 3000000, '[2000000,1000000]', 2, '{0,28}', '[10,NULL,8420,3]', NULL, NULL)`,
	`INSERT INTO interrupt_samples VALUES (7, '2026-06-16 09:00:10Z', 2000000, NULL, 2, NULL, '[6,8]', NULL, NULL)`,
	`INSERT INTO device_samples VALUES (7, '2026-06-16 09:00Z', 10000000, 5000000, '[3]', '[28]', '[1000]', NULL)`,
	`INSERT INTO softirq_samples VALUES (7, 'NET_RX', '2026-06-16 09:00Z', 5000000, NULL, '[0,50]', '[0,40]')`,
	`INSERT INTO cpu_samples (node_id, at, length_us, user_bp, system_bp, steal_bp, irq_softirq_max_bp, steal_max_bp, host_user_ppm)
		VALUES (7, '2026-06-16 09:00Z', 5000000, '[1234,NULL]', '[100,200]', '[]', '[150,9000]', '[]', 123456)`,
	`INSERT INTO system_samples (node_id, at, length_us, run_queue_x100, psi_cpu_us) VALUES (7, '2026-06-16 09:00Z', 1000000, 1250, 50000)`,
	`INSERT INTO disk_samples (node_id, at, length_us, device_ids, writes_per_ks, write_await_us) VALUES (7, '2026-06-16 09:00Z', 1000000, '[42]', '[2500]', '[1500]')`,
	`INSERT INTO placement_samples (node_id, command_id, tid, at, until, uncertainty_us, period_us, run_samples, run_cpu, states)
		VALUES (7, 41, 4711, '2026-06-16 09:00Z', '2026-06-16 09:00:01.95Z', 0, 50000, '[30,10]', '[28,3]', '[` + strings.Repeat("0,", 30) + strings.Repeat("NULL,", 9) + `NULL]')`,
	`INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us)
		VALUES (7, '2026-06-16 09:00:01.5Z', 1, -1, -3, 0, 40, false, true, 250000)`,
	`INSERT INTO sql_timings (node_id, at, length_us, inst_id, sql_id, plan_hash, executions, elapsed_us) VALUES (7, '2026-06-16 09:00Z', 3600000000, -1, 'abc', 1, 4, 10000)`,
	`INSERT INTO coverage_gaps VALUES (7, 'agent', '2026-06-16 09:00Z', '2026-06-16 09:01Z', 'restart', 60)`,
	`INSERT INTO node_events VALUES (7, '2026-06-16 09:00:30Z', 'bond-failover', 'bond1', 'ens3f0 -> ens6f0')`,
	`INSERT INTO interrupt_rollups VALUES (7, '2026-06-16 09:00Z', 600000000, NULL, '{600,1200000}', '{3,4210}')`,
	`INSERT INTO cpu_rollups (node_id, at, observed_us, busy_bp, busy_max_bp) VALUES (7, '2026-06-16 09:00Z', 600000000, '{100}', '{5000}')`,
	`INSERT INTO placement_rollups VALUES (7, 41, '2026-06-16 09:00Z', '{28}', '{12000}')`,
	`INSERT INTO wait_rollups VALUES (7, 1, 40, '2026-06-16 09:00Z', 10, 2, 640000, 700000)`,
	`INSERT INTO tallies VALUES (7, 'ORDP1', 'lgwr', '2026-06-16 09:00Z', 3600000000, 3600, 9, 7, 900, 60, 65, 640000)`,
	`INSERT INTO stalls VALUES (7, 'ORDP1', 'lgwr', '2026-06-16 09:10Z', 640000, 12, 'own')`,
	`INSERT INTO changes (change_id, at, title) VALUES ('00000000-0000-4000-8000-000000000001', '2026-06-17Z', 'bond1: active-backup -> 802.3ad')`,
	`INSERT INTO incidents VALUES (7, '00000000-0000-4000-8000-000000000002', 'ORDP1', 'lgwr', '2026-06-16 09:00Z', '2026-06-16 09:15Z', 89, 'open')`,
	`INSERT INTO findings VALUES (7, '00000000-0000-4000-8000-000000000003', 'ORDP1', 'lgwr', 'incident', '2026-06-16 09:00Z', '2026-06-16 09:15Z',
		'interrupt-collision', 'B', '{"headline": "76 of 89 commit stalls"}', '{}')`,
	`INSERT INTO sql_texts VALUES (7, 'abc', 'SELECT 1 FROM dual')`,
	`INSERT INTO tokens (token_id, node_id, hash) VALUES ('t1', 7, sha256('secret'))`,
	`INSERT INTO receipts VALUES (7, '00000000-0000-4000-8000-000000000004', 1, '2026-06-16Z', 10)`,
}

// readerViews are what a row of each view must show, worked out by hand from the
// rows above. kept to what a person would compute.
var readerViews = []struct{ query, want string }{
	// 10 and 8,420 in 2 s, unknown and 3 in the next second; then 6 and 8 in a second each.
	{`SELECT string_agg(concat_ws(' ', to_char(time, 'MI:SS'), to_char(from_time, 'MI:SS'), cpu, per_s), ', ' ORDER BY from_time, cpu) FROM interrupts`,
		"00:00 00:00 0 5, 00:00 00:00 28 4210, 00:00 00:02 0, 00:00 00:02 28 3, 00:10 00:10 0 6, 00:10 00:11 0 8"},
	{`SELECT concat_ws(' ', node, irq, device, class, cpu, per_s) FROM device_interrupts`, "db1 120 ens3f0 network 28 200"},
	{`SELECT concat_ws(' ', softirq, cpu, per_s, max_per_s) FROM softirqs WHERE cpu = 1`, "NET_RX 1 10 40"},
	{`SELECT string_agg(concat_ws(' ', cpu, user_pct, system_pct, irq_softirq_max_pct, steal_pct, steal_max_pct, idle_pct), ', ' ORDER BY cpu) FROM cpus`, "0 12.34 1 1.5 0 0, 1 2 90 0 0"},
	{`SELECT user_pct::text FROM hosts`, "12.3456"},
	{`SELECT concat_ws(' ', run_queue, psi_cpu_pct) FROM systems`, "12.5 5"},
	{`SELECT concat_ws(' ', device, writes_per_s, write_await_ms) FROM disks`, "sda 2.5 1.5"},
	// 30 samples at 50 ms on CPU 28 sleeping, then 10 on CPU 3 in an unknown state.
	{`SELECT string_agg(concat_ws(' ', command, tid, to_char(from_time, 'HH24:MI:SS.MS'), cpu, state, samples), ', ' ORDER BY from_time) FROM placements`,
		"ora_lgwr_ORDP1 4711 09:00:00.000 28 S 30, ora_lgwr_ORDP1 4711 09:00:01.500 3 10"},
	{`SELECT concat_ws(' ', node, inst_id, session_id, event, waited_ms) FROM waits`, "db1 1 log file sync 250"}, // the session is unknown
	{`SELECT concat_ws(' ', inst_id, sql_id, length_s, elapsed_ms_per_execution) FROM sql_timings`, "abc 3600 2.5"},
	{`SELECT concat_ws(' ', source, reason, events) FROM coverage_gaps`, "agent restart 60"},
	{`SELECT concat_ws(' ', to_char(time, 'MI:SS'), node, kind, subject, detail) FROM node_events`, "00:30 db1 bond-failover bond1 ens3f0 -> ens6f0"},
	{`SELECT string_agg(concat_ws(' ', cpu, per_s, max_per_s), ', ' ORDER BY cpu) FROM interrupt_rollups`, "0 1 3, 1 2000 4210"},
	{`SELECT concat_ws(' ', cpu, busy_pct, busy_max_pct) FROM cpu_rollups`, "0 1 50"},
	{`SELECT concat_ws(' ', command, cpu, samples) FROM placement_rollups`, "ora_lgwr_ORDP1 28 12000"},
	{`SELECT concat_ws(' ', event, waits, over_100ms, max_ms, sum_ms) FROM wait_rollups`, "log file sync 10 2 640 700"},
	{`SELECT concat_ws(' ', instance, watch, stalls, stalls_exposed, max_ms) FROM tallies`, "ORDP1 lgwr 9 7 640"},
	{`SELECT concat_ws(' ', instance, watch, longest_ms, waiters, exposure) FROM stalls`, "ORDP1 lgwr 640 12 own"},
	{`SELECT concat_ws(' ', node, title) FROM changes`, "bond1: active-backup -> 802.3ad"},
	{`SELECT concat_ws(' ', node, instance, stalls, state) FROM incidents`, "db1 ORDP1 89 open"},
	{`SELECT concat_ws(' ', verdict, grade, headline, revision) FROM findings`, "interrupt-collision B 76 of 89 commit stalls 1"},
	{`SELECT concat_ws(' ', node, inst_id, instance, database) FROM instances`, "db1 1 ORDP1 ORDP"},
}

// checkRoles holds what each role may and may not do, in a database with the
// rows of fillEveryTable.
func checkRoles(t *testing.T, conn *pgx.Conn, hypertables bool) {
	t.Helper()
	defer func() {
		run(t, conn, "RESET ROLE", "DROP ROLE IF EXISTS "+login(conn, "corewait_reader"), "DROP ROLE IF EXISTS "+login(conn, "corewait_writer"))
	}()
	as(t, conn, "corewait_reader")
	run(t, conn, "SET search_path = corewait_reader")
	for _, v := range readerViews {
		var got string
		if err := conn.QueryRow(t.Context(), v.query).Scan(&got); err != nil || got != v.want {
			t.Errorf("%s: %q, %v, want %q", v.query, got, err, v.want)
		}
	}
	run(t, conn, "SET search_path = public", `SELECT count(*) FROM interrupt_samples`, `SELECT count(*) FROM kept_waits`, `SELECT count(*) FROM topology_irqs`, `SELECT count(*) FROM collections`)
	refused(t, conn, "corewait_reader", `SELECT count(*) FROM sql_texts`, `SELECT count(*) FROM tokens`, `SELECT count(*) FROM receipts`, `SELECT count(*) FROM leases`, `SELECT count(*) FROM job_runs`, `SELECT count(*) FROM agents`, `SELECT count(*) FROM dirty_windows`,
		`INSERT INTO nodes (name) VALUES ('x')`, `UPDATE changes SET title = 'x'`, `DELETE FROM waits`, `TRUNCATE waits`,
		`SELECT corewait_create_partitions('2026-06-16', '2026-06-16')`, `SELECT corewait_drop_partitions('2036-06-16')`, `SELECT corewait_compress_chunks('2036-06-16')`,
		`CREATE TABLE mine (x int)`, `CREATE TABLE corewait_reader.mine (x int)`)

	as(t, conn, "corewait_writer")
	run(t, conn, `SELECT corewait_create_partitions('2026-06-18', '2026-06-18')`,
		`INSERT INTO nodes (name) VALUES ('db2') ON CONFLICT (name) DO NOTHING`,
		`INSERT INTO cpu_samples (node_id, at, length_us) VALUES (7, '2026-06-18Z', 1)`,
		`UPDATE cpu_samples SET host_user_ppm = 1 WHERE at = '2026-06-18Z'`, `DELETE FROM cpu_samples WHERE at = '2026-06-18Z'`,
		`INSERT INTO kept_cpu_samples (node_id, collection_id, at, length_us) VALUES (7, 1, '2026-06-18Z', 1)`,
		`INSERT INTO collections (name) VALUES ('june')`, `SELECT count(*) FROM sql_texts`, `DELETE FROM receipts`, `DELETE FROM dirty_windows`, `DELETE FROM agents`,
		`INSERT INTO tokens (token_id, node_id, hash) VALUES ('t2', 7, sha256('secret'))`, `UPDATE tokens SET revoked_at = now()`,
		`SELECT count(*) FROM corewait_migrations, corewait_settings, corewait_hot_tables`,
		`CREATE TEMPORARY TABLE staged (LIKE waits)`, `DROP TABLE staged`,
		`SELECT corewait_compress_chunks('2026-06-19', 'cpu_samples')`, `SELECT corewait_drop_partitions('2026-06-19', 'cpu_samples')`)
	if hypertables {
		if n := count(t, conn, "cpu_samples"); n != 0 {
			t.Errorf("%d rows in dropped chunks", n)
		}
	}
	refused(t, conn, "corewait_writer", `CREATE TABLE mine (x int)`, `DROP TABLE waits`, `ALTER TABLE waits ADD COLUMN x int`, `TRUNCATE waits`, `DELETE FROM tokens`,
		`UPDATE corewait_settings SET value = 'x'`, `INSERT INTO corewait_hot_tables VALUES ('names', 'day')`, `DELETE FROM corewait_migrations`,
		`CREATE TABLE corewait_reader.mine (x int)`)
}

func TestRolesMayDoTheirWorkAndNoMore(t *testing.T) {
	t.Parallel()
	conn := connect(t, plain(t))
	run(t, conn, `SET timezone = 'UTC'`, `SELECT corewait_create_partitions('2026-06-16', '2026-06-16')`)
	run(t, conn, fillEveryTable...)
	checkRoles(t, conn, false)
}
