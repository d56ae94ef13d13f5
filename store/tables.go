package store

import "strings"

// table describes a sample table: its name, its columns in the order in which
// rows are written and read, and its primary key. node_id is first in both.
//
// Every one has a twin kept_<name> for collections: the same columns with
// collection_id after node_id, in the row and in the key.
type table struct {
	name    string
	columns []string
	keys    []string
}

func describe(name, keys, others string) *table {
	t := &table{name: name, keys: strings.Fields("node_id " + keys)}
	t.columns = append(strings.Fields("node_id "), strings.Fields(others)...)
	return t
}

// The sample tables. columns: in the order of the migrations.
var (
	interruptSamples = describe("interrupt_samples", "at",
		"at length_us interval_us intervals cpus counts wrapped implausible")
	deviceSamples = describe("device_samples", "at",
		"at length_us observed_us line_ids cpus counts untracked")
	softirqSamples = describe("softirq_samples", "name at",
		"name at length_us cpus counts max_per_s")
	cpuSamples = describe("cpu_samples", "at length_us",
		`at length_us cpus user_bp system_bp irq_bp softirq_bp steal_bp iowait_bp rest_bp
		irq_softirq_max_bp steal_max_bp busy_max_bp
		host_user_ppm host_system_ppm host_irq_ppm host_softirq_ppm host_steal_ppm host_iowait_ppm host_idle_ppm`)
	systemSamples = describe("system_samples", "at length_us",
		`at length_us run_queue_x100 run_queue_max blocked_x100 swap_in_kib_per_s swap_out_kib_per_s
		interrupts_per_s context_switches_per_s user_ppm system_ppm idle_ppm iowait_ppm steal_ppm
		time_squeeze psi_cpu_us psi_io_us psi_memory_us`)
	diskSamples = describe("disk_samples", "at length_us",
		"at length_us device_ids reads_per_ks writes_per_ks read_await_us write_await_us queue_x1000 utilisation_bp")
	placementSamples = describe("placement_samples", "command_id tid at",
		`command_id tid at until uncertainty_us period_us jitter_us run_samples run_cpu states policy
		interval_us first_interval_us cpu_share_bp wait_share_bp exec_us run_delay_us voluntary involuntary`)
	waitSamples = describe("waits", "at inst_id sample_id session_id serial event_id",
		`at inst_id sample_id session_id serial event_id background waiting time_waited_us period_us
		sql_id program module machine service p1 p2 p3`)
	histogramSamples = describe("histograms", "inst_id event_id milli at",
		`inst_id event_id milli at until below_us counts last_update_us
		reading_us change_reading change_bucket change_counts change_last_update_us`)
	counterSamples = describe("counters", "inst_id at set_hash",
		"inst_id at set_hash until name_ids reading_us values")
	sqlTimings = describe("sql_timings", "at length_us inst_id sql_id plan_hash",
		`at length_us inst_id dbid sql_id plan_hash executions elapsed_us cpu_us buffer_gets disk_reads
		rows_processed module`)
	coverageGaps = describe("coverage_gaps", "source at until reason",
		"source at until reason events")
	nodeEvents = describe("node_events", "at kind subject", "at kind subject detail")
)

// sampleTables are all tables that have a kept_ twin.
var sampleTables = []*table{
	interruptSamples, deviceSamples, softirqSamples, cpuSamples, systemSamples, diskSamples, placementSamples,
	waitSamples, histogramSamples, counterSamples, sqlTimings, coverageGaps, nodeEvents,
}

// in gives the name of the table itself, or of its twin.
func (t *table) in(kept bool) string {
	if kept {
		return "kept_" + t.name
	}
	return t.name
}

// columnList gives the columns, comma separated, of the table or its twin.
func (t *table) columnList(kept bool) string { return list(t.columns, kept) }

// keyList gives the columns of the primary key, comma separated.
func (t *table) keyList(kept bool) string { return list(t.keys, kept) }

func list(columns []string, kept bool) string {
	all := strings.Join(columns, ", ")
	if kept {
		return strings.Replace(all, "node_id", "node_id, collection_id", 1)
	}
	return all
}
