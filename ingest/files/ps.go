package files

import (
	"bytes"
	"context"
	"fmt"
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
	return &psReader{toolFile: newToolFile(in, to), commands: commandNames{}}
}

// psReader reads a loop that prints the time and then, with the column PSR, ps:
// such as `ps -eLo pid,tid,psr,stat,cls,rtprio,comm`. Every row yields a
// placement: which processes matter is not for a reader to say.
type psReader struct {
	toolFile
	columns  psColumns
	commands commandNames

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
	return r.to.Placement(domain.Placement{
		At: r.at, Uncertainty: uncertainty,
		PID: v.pid, TID: tid, Command: r.commands.name(command),
		CPU: v.cpu, State: v.state, Policy: v.policy,
		CPUShare: unknown(), WaitShare: unknown(),
		Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1,
	})
}
