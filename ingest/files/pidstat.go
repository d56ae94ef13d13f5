package files

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

func probePidstat(head []byte) (probed, bool) { return probeTool(head, openPidstat) }

func readPidstat(ctx context.Context, in *input, to ingest.Sink) error {
	return readTool(ctx, openPidstat(in, to))
}

func openPidstat(in *input, to ingest.Sink) toolReader {
	r := &pidstatReader{toolFile: newToolFile(in, to), commands: commandNames{}, pid: -1}
	r.times.clock = &r.clock
	return r
}

// pidstatReader reads pidstat with any options. Only reports that name a CPU
// (-u) yield placements; those of -d, -r, -s, -v and -w do not.
//
// The time printed is the end of the interval, cut to whole seconds; the CPU
// was read at an unknown phase of that second.
type pidstatReader struct {
	toolFile
	times    reportTimes
	columns  pidstatColumns
	pid      int // thread group that the rows of threads belong to; -1 unknown
	commands commandNames
}

// pidstatColumns is what a heading says of the rows below it.
type pidstatColumns struct {
	roles   []pidstatRole // of the columns left of the command
	names   []string
	threads bool // -t: rows of thread groups and of threads
	placed  bool // rows name a CPU
}

type pidstatRole uint8

const (
	pidstatOther pidstatRole = iota
	pidstatPID               // PID, or TGID with -t
	pidstatTID
	pidstatUser
	pidstatSystem
	pidstatGuest
	pidstatWait
	pidstatTotal
	pidstatCPU
	pidstatPolicy
)

func pidstatRoleOf(column string) pidstatRole {
	switch column {
	case "PID", "TGID":
		return pidstatPID
	case "TID":
		return pidstatTID
	case "%usr", "%user":
		return pidstatUser
	case "%system":
		return pidstatSystem
	case "%guest":
		return pidstatGuest
	case "%wait":
		return pidstatWait
	case "%CPU":
		return pidstatTotal
	case "CPU":
		return pidstatCPU
	case "policy":
		return pidstatPolicy
	default:
		return pidstatOther
	}
}

func (r *pidstatReader) take(line []byte) error {
	s, rest, ok := r.times.split(line)
	if !ok {
		r.other(line)
		return nil
	}
	if rest = trimBlanks(rest); pidstatHeading(rest) && r.heading(rest) {
		r.times.headed(s)
		return nil
	}
	if !r.known {
		r.problem("row before any heading")
		return nil
	}
	if r.times.row(s, line, rest) {
		r.pid = -1
	}
	return r.row(rest)
}

// pidstatHeading says whether a line may be a heading: rows begin with a user's
// number or, with -U, name.
func pidstatHeading(text []byte) bool {
	for _, first := range [...]string{"UID ", "USER ", "PID ", "TGID "} {
		if bytes.HasPrefix(text, []byte(first)) {
			return true
		}
	}
	return false
}

// other reads a line that does not begin with a time and is no row.
func (r *pidstatReader) other(line []byte) {
	text := trimBlanks(line)
	switch {
	case len(text) == 0, averages(line):
	case r.banner(line):
		r.times.restart()
	case text[0] == '#': // -h and -H: "#      Time       UID       PID ..."
		word, rest := cutField(text[1:])
		if string(word) != "Time" || !r.heading(rest) {
			r.problem("no heading of pidstat")
		}
	case r.watched(line):
	default:
		r.problem("no row of pidstat")
	}
}

// heading takes over the columns that a heading names.
func (r *pidstatReader) heading(text []byte) bool {
	fields := bytes.Fields(text)
	last := len(fields) - 1
	if last < 1 || last > maxToolColumns || string(fields[last]) != "Command" {
		return false
	}
	c := pidstatColumns{roles: make([]pidstatRole, 0, last), names: make([]string, 0, last)}
	identified := false
	for _, f := range fields[:last] {
		role := pidstatRoleOf(string(f))
		c.roles = append(c.roles, role)
		c.names = append(c.names, string(f))
		identified = identified || role == pidstatPID || role == pidstatTID
		c.threads = c.threads || role == pidstatTID
		c.placed = c.placed || role == pidstatCPU
	}
	if !identified {
		return false
	}
	r.columns = c
	r.known = true
	r.pid = -1
	return true
}

// pidstatRow is a row as read.
type pidstatRow struct {
	pid, tid, cpu              int // negative: "-"
	policy                     int
	user, system, guest, total float64
	wait                       float64
}

func (r *pidstatReader) row(text []byte) error {
	if !r.columns.placed {
		return nil
	}
	v := pidstatRow{
		pid: -1, tid: -1, cpu: -1, policy: -1,
		user: unknown(), system: unknown(), guest: unknown(), total: unknown(), wait: unknown(),
	}
	for i, role := range r.columns.roles {
		var field []byte
		field, text = cutField(text)
		if len(field) == 0 {
			r.problem(fmt.Sprintf("row is cut short: %d of %d columns", i, len(r.columns.roles)+1))
			return nil
		}
		if !v.set(role, field) {
			r.problem(unreadable(r.columns.names[i], field))
			return nil
		}
	}
	command := bytes.TrimRight(trimBlanks(text), " \t")
	if len(command) == 0 {
		r.problem("row is cut short: no command")
		return nil
	}
	return r.place(&v, command)
}

// set takes over the value of a column; false where it cannot be read.
func (v *pidstatRow) set(role pidstatRole, field []byte) (ok bool) {
	switch role {
	case pidstatOther:
		return true
	case pidstatPID:
		v.pid, ok = idOrDash(field, maxTaskID)
	case pidstatTID:
		v.tid, ok = idOrDash(field, maxTaskID)
	case pidstatCPU:
		v.cpu, ok = idOrDash(field, maxCPUID)
	case pidstatUser:
		v.user, ok = share(field)
	case pidstatSystem:
		v.system, ok = share(field)
	case pidstatGuest:
		v.guest, ok = share(field)
	case pidstatTotal:
		v.total, ok = share(field)
	case pidstatWait:
		v.wait, ok = share(field)
	case pidstatPolicy:
		v.policy, ok = policyName(field), true
	}
	return ok
}

// idOrDash reads a number, or "-" as -1.
func idOrDash(field []byte, below int) (int, bool) {
	if len(field) == 1 && field[0] == '-' {
		return -1, true
	}
	return whole(field, below)
}

// policyName gives the kernel's number of a scheduling policy as pidstat -R
// names it; -1 unknown.
func policyName(name []byte) int {
	switch string(name) {
	case "NORMAL":
		return 0
	case "FIFO":
		return 1
	case "RR":
		return 2
	case "BATCH":
		return 3
	case "IDLE":
		return 5
	case "DEADLN", "DEADLINE":
		return 6
	default:
		return -1
	}
}

// place sends the placement that a row tells. With -t the row of a thread
// group is none: it only names the group of the threads below it.
func (r *pidstatReader) place(v *pidstatRow, command []byte) error {
	tid := v.pid
	if r.columns.threads {
		if v.tid < 0 {
			r.pid = v.pid
			return nil
		}
		tid = v.tid
		if command = bytes.TrimPrefix(command, []byte("|__")); len(command) == 0 {
			r.problem("row is cut short: no command")
			return nil
		}
	}
	if v.cpu < 0 || tid < 0 {
		return nil
	}
	pid := v.pid
	if pid < 0 {
		pid = r.pid
	}
	r.in.count++
	return r.to.Placement(domain.Placement{
		At:          r.times.instant(),
		Uncertainty: printedSecond,
		Interval:    r.times.interval,
		PID:         pid,
		TID:         tid,
		Command:     r.commands.name(command),
		CPU:         v.cpu,
		CPUShare:    v.cpuShare(),
		WaitShare:   v.wait,
		Exec:        -1,
		RunDelay:    -1,
		Voluntary:   -1,
		Involuntary: -1,
		Policy:      v.policy,
	})
}

// cpuShare gives the share of time that the task ran. pidstat caps %CPU (at
// 100 for a task, whose threads may have used more), and divides it by the
// number of CPUs with -I: where it is less than its parts by more than they
// are rounded, the parts count.
func (v *pidstatRow) cpuShare() float64 {
	parts := v.user + v.system
	if !math.IsNaN(v.guest) {
		parts += v.guest
	}
	const rounding = 0.0005
	if math.IsNaN(v.total) || parts > v.total+rounding {
		return parts
	}
	return v.total
}
