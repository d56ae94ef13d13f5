package files

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

func probePs(head []byte) (probed, bool) { return probeTool(head, openPs) }

func readPs(ctx context.Context, in *input, to ingest.Sink) error {
	return readTool(ctx, openPs(in, to))
}

func openPs(in *input, to ingest.Sink) toolReader {
	return &psReader{toolFile: newToolFile(in, to), commands: commandNames{}, threads: psThreads{}}
}

// psReader reads a loop that prints the time and then, with the column PSR, ps:
// such as `ps -eLo pid,tid,psr,stat,cls,rtprio,comm`. Every row yields a
// placement: which processes matter is not for a reader to say. A script that
// prints rows like those of ps may add what ps cannot tell, the first two
// numbers of /proc/PID/task/TID/schedstat, as columns EXEC_NS and WAIT_NS.
type psReader struct {
	toolFile
	columns  psColumns
	commands commandNames
	threads  psThreads
	full     bool // that threads are too many was told

	time   timeLine
	at     time.Time // instant of it
	timed  bool      // the block has a time
	headed bool      // the block has a heading
	told   bool      // that the block has no time
}

// psColumns is what a heading says of the rows below it.
type psColumns struct {
	before []psRole // columns left of the command
	after  []psRole // columns right of it
	names  []string // of all
}

type psRole uint8

const (
	psOther psRole = iota
	psPID
	psThread
	psCPU
	psState
	psPolicy
	psExec  // EXEC_NS: ns on a CPU since the thread began
	psDelay // WAIT_NS: ns queued for a CPU since the thread began
	psCommand
	psStarted // several words
)

func psRoleOf(column string) psRole {
	switch column {
	case "PID", "TGID":
		return psPID
	case "TID", "LWP", "SPID":
		return psThread
	case "PSR", "CPUID":
		return psCPU
	case "STAT", "S":
		return psState
	case "CLS", "POL":
		return psPolicy
	case "EXEC_NS":
		return psExec
	case "WAIT_NS":
		return psDelay
	case "COMMAND", "CMD", "ARGS", "COMM", "UCMD":
		return psCommand
	case "STARTED":
		return psStarted
	default:
		return psOther
	}
}

func (r *psReader) take(line []byte) error {
	text := trimBlanks(line)
	if len(text) == 0 {
		return nil
	}
	if mayBeTime(text) {
		if t, ok := parseProcTime(text, r.in.zone); ok {
			r.begin(t)
			return nil
		}
	}
	if text[0] == '#' || r.heading(text) {
		return nil
	}
	if len(r.columns.names) == 0 {
		if !r.watched(line) {
			r.problem("row before any heading")
		}
		return nil
	}
	return r.row(text)
}

// mayBeTime is a quick look that spares most rows a thorough one: a time line
// holds a colon or letters of other scripts, is a single number, or stands
// between ornaments.
func mayBeTime(text []byte) bool {
	if strings.IndexByte("#=*-", text[0]) >= 0 {
		return true
	}
	words := false
	for _, c := range text {
		if c == ':' || c >= 0x80 {
			return true
		}
		words = words || blank(c)
	}
	return !words
}

// begin takes over the time of the block that follows.
func (r *psReader) begin(t procTime) {
	r.at = t.after(r.at, r.in.zone)
	r.time, r.timed, r.headed, r.told = t.timeLine, true, false, false
	if r.host == "" {
		r.host = t.host
	}
	if r.clock.first.IsZero() {
		r.clock.first = r.at
	}
	if r.clock.carried == nil {
		r.clock.carried = t.zone
	}
	r.clock.local = r.clock.local || (t.zone == nil && !t.absolute)
}

// heading takes over the columns that a heading names. A second heading
// without a time line between is another reading, whose time is unknown.
func (r *psReader) heading(text []byte) bool {
	if !bytes.Contains(text, []byte("PSR")) && !bytes.Contains(text, []byte("CPUID")) {
		return false
	}
	fields := bytes.Fields(text)
	if len(fields) > maxToolColumns {
		return false
	}
	var c psColumns
	met := map[psRole]bool{}
	for _, f := range fields {
		role := psRoleOf(string(f))
		if met[role] && role != psOther && role != psPID {
			return false
		}
		switch {
		case met[psCommand]:
			c.after = append(c.after, role)
		case role != psCommand:
			c.before = append(c.before, role)
		}
		met[role] = true
		c.names = append(c.names, string(f))
	}
	if !met[psCPU] || !met[psCommand] || (!met[psPID] && !met[psThread]) {
		return false
	}
	r.known = true
	if met[psStarted] {
		r.problem("column STARTED is of several words: run ps without lstart and start")
		c = psColumns{}
	}
	r.columns = c
	if r.headed {
		r.timed, r.told = false, false
	}
	r.headed = true
	return true
}

// psRow is a row as read; negative or zero where the column is missing.
type psRow struct {
	pid, thread, cpu, policy int
	state                    byte
	exec, delay              psCumulative
}

func (r *psReader) row(text []byte) error {
	if !r.timed {
		if !r.told {
			r.problem("no time line before this block: print the time before each ps")
		}
		r.told = true
		return nil
	}
	v := psRow{pid: -1, thread: -1, cpu: -1, policy: -1}
	for i, role := range r.columns.before {
		var field []byte
		field, text = cutField(text)
		if !r.value(&v, role, r.columns.names[i], field) {
			return nil
		}
	}
	text = trimBlanks(text)
	for i := len(r.columns.after) - 1; i >= 0; i-- {
		var field []byte
		text, field = cutLastField(text)
		if !r.value(&v, r.columns.after[i], r.columns.names[len(r.columns.before)+1+i], field) {
			return nil
		}
	}
	if text = bytes.TrimRight(text, " \t"); len(text) == 0 {
		r.problem("row is cut short: no command")
		return nil
	}
	return r.place(&v, text)
}

// cutLastField gives the last blank-separated field and what precedes it.
func cutLastField(b []byte) (rest, field []byte) {
	b = bytes.TrimRight(b, " \t")
	i := bytes.LastIndexAny(b, " \t")
	return b[:i+1], b[i+1:]
}

// value takes over the value of a column; false where it cannot be read, which
// is noted.
func (r *psReader) value(v *psRow, role psRole, column string, field []byte) bool {
	if len(field) == 0 {
		r.problem(fmt.Sprintf("row is cut short: fewer than %d columns", len(r.columns.names)))
		return false
	}
	ok := true
	switch role {
	case psPID:
		v.pid, ok = whole(field, maxTaskID)
	case psThread:
		v.thread, ok = idOrDash(field, maxTaskID)
	case psCPU:
		v.cpu, ok = idOrDash(field, maxCPUID)
	case psState:
		v.state, ok = taskState(field)
	case psPolicy:
		v.policy = policyClass(field)
	case psExec:
		ok = v.exec.set(field)
	case psDelay:
		ok = v.delay.set(field)
	case psOther, psCommand, psStarted:
	}
	if !ok {
		r.problem(unreadable(column, field))
	}
	return ok
}

// taskState gives the first letter of STAT (S, Ss, R+, D<, ...), 0 where it is
// not known.
func taskState(field []byte) (byte, bool) {
	c := field[0]
	switch {
	case c >= 'A' && c <= 'Z', c == 't', c == 'x':
		return c, true
	default:
		return 0, c == '-' || c == '?'
	}
}

// policyClass gives the kernel's number of a scheduling policy as the column
// CLS names it; -1 unknown.
func policyClass(field []byte) int {
	switch string(field) {
	case "TS":
		return 0
	case "FF":
		return 1
	case "RR":
		return 2
	case "B":
		return 3
	case "ISO":
		return 4
	case "IDL":
		return 5
	case "DLN":
		return 6
	default:
		return -1
	}
}

// place sends the placement that a row tells. ps runs at once after its time
// line, which is exact unless it is cut to whole seconds.
func (r *psReader) place(v *psRow, command []byte) error {
	if v.cpu < 0 {
		return nil
	}
	tid := v.thread
	if tid < 0 {
		tid = v.pid
	}
	uncertainty := printedSecond
	if !r.time.whole {
		uncertainty = 0
	}
	r.in.count++
	d := r.deltas(psThreadID{v.pid, tid}, v)
	return r.to.Placement(domain.Placement{
		At: r.at, Uncertainty: uncertainty, Interval: d.interval,
		PID: v.pid, TID: tid, Command: r.commands.name(command),
		CPU: v.cpu, State: v.state, Policy: v.policy,
		CPUShare: unknown(), WaitShare: unknown(),
		Exec: d.exec, RunDelay: d.delay, Voluntary: -1, Involuntary: -1,
	})
}

// Bounds of what is remembered of threads to tell what they did since their
// previous row.
const (
	maxPsThreads = 1 << 16          // threads remembered; pid_max is 32,768 unless raised
	maxPsGap     = 10 * time.Second // distance of a previous row that still counts
)

// psThreads is the latest row of each thread that carried times.
type psThreads map[psThreadID]psTimes

type psThreadID struct{ pid, tid int }

type psTimes struct {
	at          time.Time
	exec, delay psCumulative
}

// psCumulative is a time in nanoseconds that only grows while a thread lives.
type psCumulative struct {
	ns    uint64
	known bool
}

// set takes over a cumulative time; "-" is unknown. False where it cannot be read.
func (c *psCumulative) set(field []byte) bool {
	if len(field) == 1 && field[0] == '-' {
		return true
	}
	ns, err := strconv.ParseUint(string(field), 10, 64)
	*c = psCumulative{ns: ns, known: err == nil}
	return c.known
}

// fell says that a time is less than it was: it is another thread's.
func (c psCumulative) fell(before psCumulative) bool {
	return c.known && before.known && c.ns < before.ns
}

// since gives what was added; negative unknown.
func (c psCumulative) since(before psCumulative) time.Duration {
	if !c.known || !before.known || c.ns-before.ns > math.MaxInt64 {
		return -1
	}
	return time.Duration(c.ns - before.ns) //nolint:gosec // was compared with the largest
}

// psDeltas is what a thread did since its previous row. Negative times and an
// interval of 0 are unknown.
type psDeltas struct {
	interval, exec, delay time.Duration
}

// deltas gives what the thread did since its previous row, and remembers this one.
func (r *psReader) deltas(id psThreadID, v *psRow) psDeltas {
	none := psDeltas{exec: -1, delay: -1}
	// A kernel built without these counts prints zeros. A thread that can be
	// seen on a CPU has run.
	if v.exec.ns == 0 && v.delay.ns == 0 {
		delete(r.threads, id)
		return none
	}
	before, met := r.threads[id]
	if !met && len(r.threads) >= maxPsThreads {
		if !r.full {
			r.problem(fmt.Sprintf("more than %d threads: what the others ran and queued is unknown", maxPsThreads))
		}
		r.full = true
		return none
	}
	now := psTimes{at: r.at, exec: v.exec, delay: v.delay}
	r.threads[id] = now
	if !met {
		return none
	}
	return now.since(before)
}

// since gives what was added to a thread's times. Nothing is known where the
// previous row is too far away, or where a time shows that the number has gone
// to another thread. The run delay, unlike the time on a CPU, may be longer
// than the interval: the kernel adds a wait as a whole when it ends
// (kernel/sched/stats.h, sched_info_arrive).
func (t psTimes) since(before psTimes) psDeltas {
	d := psDeltas{interval: t.at.Sub(before.at), exec: -1, delay: -1}
	if d.interval <= 0 || d.interval > maxPsGap || t.exec.fell(before.exec) || t.delay.fell(before.delay) {
		return psDeltas{exec: -1, delay: -1}
	}
	d.exec, d.delay = t.exec.since(before.exec), t.delay.since(before.delay)
	if d.exec > d.interval+printedSecond { // printed times may be cut to seconds
		return psDeltas{exec: -1, delay: -1}
	}
	if d.exec < 0 && d.delay < 0 {
		d.interval = 0
	}
	return d
}
