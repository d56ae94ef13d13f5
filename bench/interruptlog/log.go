// Package interruptlog writes logs of /proc/interrupts for the benchmarks, as
// Linux prints it (kernel/irq/proc.c: `%*d: ` and `%10u ` for each CPU), of any
// number of CPUs and lines and of any length. A log is a function of its size
// alone.
package interruptlog

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

const (
	countWidth = 10 // %10u
	nameWidth  = 4  // of an interrupt's number where the kernel has room for a thousand
)

// Log gives one reading after the other.
type Log struct {
	cpus, lines int
	text        []byte // of the reading: counts are changed in place
	rows        []row
	at          time.Time
	reading     int
}

// row is a line of the reading: where its counts begin, and what they are.
type row struct {
	begin int
	count []uint32
	every int // the CPUs that it interrupts: those whose number leaves rest
	rest  int
}

// New makes a log: a quarter of the lines serve ports, a quarter storage, the
// rest other devices; the last four are the kernel's own. A device's line
// interrupts one CPU in so many as every says; its other counts are zero and
// stay so: 16 is like a host with one queue a CPU, 1 leaves no zero.
func New(cpus, lines, every int) *Log {
	l := &Log{cpus: cpus, lines: lines, at: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)}
	l.text = append(l.text, "            "...)
	for c := range cpus {
		l.text = fmt.Appendf(l.text, "%-11s", "CPU"+strconv.Itoa(c))
	}
	l.text = append(l.text, '\n')
	kernel := []string{"LOC", "RES", "CAL", "TLB"}
	for i := range lines {
		if k := i - (lines - len(kernel)); k >= 0 {
			l.addRow(kernel[k], " Some kernel interrupts", 1, 0)
			continue
		}
		l.addRow(strconv.Itoa(40+i), " IR-PCI-MSI "+strconv.Itoa(524288+i)+"-edge      "+handler(i), every, i%every)
	}
	return l
}

// handler names what a line serves.
func handler(i int) string {
	switch i % 4 {
	case 0:
		return fmt.Sprintf("ens%df0-TxRx-%d", 1+i/64, i%64)
	case 1:
		return fmt.Sprintf("nvme%dq%d", i/64, i%64)
	default:
		return fmt.Sprintf("unit%d-%d", i/64, i%64)
	}
}

func (l *Log) addRow(name, text string, every, rest int) {
	l.text = fmt.Appendf(l.text, "%*s: ", nameWidth, name)
	l.rows = append(l.rows, row{begin: len(l.text), count: make([]uint32, l.cpus), every: every, rest: rest})
	for range l.cpus {
		l.text = fmt.Appendf(l.text, "%*d ", countWidth, 0)
	}
	l.text = append(l.text, text...)
	l.text = append(l.text, '\n')
}

// Next gives the reading of the next second, valid until the call after it.
func (l *Log) Next() []byte {
	l.reading++
	for i := range l.rows {
		r := &l.rows[i]
		for c := r.rest; c < l.cpus; c += r.every {
			r.count[c] += uint32(50 + (l.reading*(i+7)+c*13)%400) //nolint:gosec // under 450
			put(l.text[r.begin+c*(countWidth+1):][:countWidth], r.count[c])
		}
	}
	return l.text
}

// put writes a count right-aligned.
func put(field []byte, n uint32) {
	for i := len(field) - 1; n > 0; i-- {
		field[i] = byte('0' + n%10)
		n /= 10
	}
}

// Write writes readings, each under a time line, until so many bytes are
// written; it gives the number of readings.
func (l *Log) Write(w io.Writer, size int64) (readings int, written int64, err error) {
	for written < size {
		text := l.Next()
		stamp := append(l.at.Add(time.Duration(l.reading)*time.Second).AppendFormat(nil, time.RFC3339), '\n')
		for _, part := range [][]byte{stamp, text} {
			n, err := w.Write(part)
			written += int64(n)
			if err != nil {
				return readings, written, fmt.Errorf("write reading %d: %w", l.reading, err)
			}
		}
		readings++
	}
	return readings, written, nil
}
