package procfmt

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
)

// ErrRepeated says that a row came a second time: the text holds two readings,
// or readings of two hosts, with nothing between them.
var ErrRepeated = errors.New("occurs twice: two readings or two hosts in one text")

// statColumns are the columns of a cpu row: user nice system idle iowait irq
// softirq steal guest guest_nice (proc_stat(5)); kernel 2.4 had the first four.
const (
	statColumns    = 10
	minStatColumns = 4
)

// latestBoot is the last second of the year 2200: a later btime is damaged.
const latestBoot = 7289654399

// StatParser reads snapshots of /proc/stat one after the other: Begin, Line
// for each line, End; or Parse. The snapshot is valid until the next Begin.
type StatParser struct {
	snap    domain.CPUTimesSnapshot
	columns int   // of this snapshot's cpu rows
	ids     []int // of the cpu rows so far, ascending
	lines   int
	last    []byte // name of the last line taken

	linesBefore int
	lastBefore  []byte
}

// Begin starts a snapshot.
func (p *StatParser) Begin() {
	p.linesBefore, p.lastBefore = p.lines, append(p.lastBefore[:0], p.last...)
	p.lines, p.columns, p.last, p.ids = 0, 0, p.last[:0], p.ids[:0]
	p.snap = domain.CPUTimesSnapshot{CPUs: p.snap.CPUs[:0], ContextSwitches: -1, Interrupts: -1, ProcsRunning: -1, ProcsBlocked: -1}
}

// IsStatRow says whether line is a cpu row of /proc/stat.
func IsStatRow(line []byte) bool {
	name, rest := token(line)
	if _, isCPU := statCPU(name); !isCPU {
		return false
	}
	var values [statColumns]int64
	n, err := statValues(values[:], rest)
	return err == nil && n >= minStatColumns
}

// Rows is the number of lines taken since Begin.
func (p *StatParser) Rows() int { return p.lines }

// Line takes one line. After an error the line is not part of the snapshot.
func (p *StatParser) Line(line []byte) error {
	name, rest := token(line)
	if len(name) == 0 || len(name) > 32 {
		return errors.New("not a line of /proc/stat")
	}
	var err error
	if id, isCPU := statCPU(name); isCPU {
		err = p.cpu(id, name, rest)
	} else {
		err = p.total(name, rest)
	}
	if err == nil {
		p.lines++
		p.last = append(p.last[:0], name...)
	}
	return err
}

// Snapshot gives what the last End closed.
func (p *StatParser) Snapshot() *domain.CPUTimesSnapshot { return &p.snap }

// End closes the snapshot. Where it stops before the line with which the one
// before ended (ErrCut), the last line is taken out, since it may be cut.
func (p *StatParser) End() (*domain.CPUTimesSnapshot, error) {
	if p.lines > 0 && p.lines < p.linesBefore && !bytes.Equal(p.last, p.lastBefore) {
		p.dropLast()
		return &p.snap, fmt.Errorf("%w: ends at %s, the one before at %s", ErrCut, p.last, p.lastBefore)
	}
	return &p.snap, nil
}

// Parse reads one whole snapshot; for its error see InterruptParser.Parse. A
// text in which a row comes twice gives ErrRepeated and no snapshot.
func (p *StatParser) Parse(data []byte) (*domain.CPUTimesSnapshot, error) {
	var unread UnreadRows
	p.Begin()
	err := eachRow(data, func(number int, line []byte) error {
		err := p.Line(line)
		if errors.Is(err, ErrRepeated) {
			return fmt.Errorf("line %d: %w", number, err)
		}
		unread.note(number, err)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.lines == 0 && unread.Count == 0 {
		return nil, ErrEmpty
	}
	snap, err := p.End()
	if unread.Count > 0 {
		return snap, unread.err()
	}
	return snap, err
}

// statCPU reads "cpu" (all CPUs) and "cpu12".
func statCPU(name []byte) (id int, ok bool) {
	number, found := bytes.CutPrefix(name, []byte("cpu"))
	if !found {
		return 0, false
	}
	if len(number) == 0 {
		return domain.AllCPUs, true
	}
	n, end, ok := digits(number, 0)
	if !ok || end != len(number) || n >= maxCPUs {
		return 0, false
	}
	return int(n), true
}

// cpu takes a cpu row.
func (p *StatParser) cpu(id int, name, rest []byte) error {
	at, repeated := slices.BinarySearch(p.ids, id)
	if repeated {
		return fmt.Errorf("%s %w", name, ErrRepeated)
	}
	var values [statColumns]int64
	n, err := statValues(values[:], rest)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case n < minStatColumns:
		return fmt.Errorf("%s: %d columns where at least %d are due", name, n, minStatColumns)
	case p.columns != 0 && n != p.columns:
		return fmt.Errorf("%s: %d columns where the rows before have %d", name, n, p.columns)
	}
	p.columns = n
	for i := n; i < statColumns; i++ {
		values[i] = -1
	}
	p.ids = slices.Insert(p.ids, at, id)
	p.snap.CPUs = append(p.snap.CPUs, domain.CPUTimes{
		CPU: id, User: values[0], Nice: values[1], System: values[2], Idle: values[3], IOWait: values[4],
		IRQ: values[5], SoftIRQ: values[6], Steal: values[7], Guest: values[8], GuestNice: values[9],
	})
	return nil
}

// statValues reads numbers into values and gives how many there were; further
// columns, of kernels to come, are passed over.
func statValues(values []int64, rest []byte) (int, error) {
	n := 0
	for {
		var word []byte
		word, rest = token(rest)
		if len(word) == 0 {
			return n, nil
		}
		v, ok := number(word)
		if !ok || v > math.MaxInt64 {
			return n, fmt.Errorf("%.20q is not a count", word)
		}
		if n < len(values) {
			values[n] = int64(v)
			n++
		}
	}
}

// total takes a line that is no cpu row: its first number, which for intr is
// the total. Lines that corewait has no use for are only checked.
func (p *StatParser) total(name, rest []byte) error {
	word, _ := token(rest)
	v, ok := number(word)
	if !ok || v > math.MaxInt64 {
		return fmt.Errorf("%s: %.20q is not a count", name, word)
	}
	n := int64(v)
	switch string(name) {
	case "ctxt":
		return setOnce(&p.snap.ContextSwitches, n, name)
	case "intr":
		return setOnce(&p.snap.Interrupts, n, name)
	case "procs_running":
		return setOnce(&p.snap.ProcsRunning, n, name)
	case "procs_blocked":
		return setOnce(&p.snap.ProcsBlocked, n, name)
	case "btime":
		if !p.snap.BootTime.IsZero() {
			return fmt.Errorf("%s %w", name, ErrRepeated)
		}
		if n > latestBoot {
			return fmt.Errorf("%s %d lies beyond the year 2200", name, n)
		}
		p.snap.BootTime = time.Unix(n, 0).UTC()
		return nil
	case "processes", "softirq", "page", "swap", "preempt":
		return nil
	}
	if bytes.HasPrefix(name, []byte("disk_io:")) { // kernel 2.4
		return nil
	}
	return fmt.Errorf("%.20q is not a line of /proc/stat", name)
}

func setOnce(to *int64, n int64, name []byte) error {
	if *to >= 0 {
		return fmt.Errorf("%s %w", name, ErrRepeated)
	}
	*to = n
	return nil
}

// dropLast makes the value of the last line unknown.
func (p *StatParser) dropLast() {
	switch string(p.last) {
	case "ctxt":
		p.snap.ContextSwitches = -1
	case "intr":
		p.snap.Interrupts = -1
	case "procs_running":
		p.snap.ProcsRunning = -1
	case "procs_blocked":
		p.snap.ProcsBlocked = -1
	case "btime":
		p.snap.BootTime = time.Time{}
	default:
		if _, isCPU := statCPU(p.last); isCPU {
			p.snap.CPUs = p.snap.CPUs[:len(p.snap.CPUs)-1]
		}
	}
}
