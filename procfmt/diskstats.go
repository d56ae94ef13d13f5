package procfmt

import (
	"errors"
	"fmt"

	"github.com/corewait/corewait/domain"
)

// minDiskFields are the fields of a row of /proc/diskstats since kernel
// 2.6.25: numbers of the device, its name and eleven counters. 4.18 added four
// (discards) and 5.5 two (flushes); Documentation/admin-guide/iostats.rst.
const minDiskFields = 14

// DiskParser reads snapshots of /proc/diskstats one after the other: Begin,
// Line for each row, Snapshot; or Parse. The snapshot is valid until the next Begin.
type DiskParser struct {
	snap   domain.DiskSnapshot
	seen   map[string]struct{}
	fields int // of this snapshot's rows
}

// Begin starts a snapshot.
func (p *DiskParser) Begin() {
	p.snap.Devices = p.snap.Devices[:0]
	if p.seen == nil {
		p.seen = make(map[string]struct{})
	}
	clear(p.seen)
	p.fields = 0
}

// Rows is the number of rows taken since Begin.
func (p *DiskParser) Rows() int { return len(p.snap.Devices) }

// Line takes one row. After an error the row is not part of the snapshot.
func (p *DiskParser) Line(line []byte) error {
	name, values, fields, err := diskRow(line)
	if err != nil {
		return err
	}
	if p.fields > 0 && fields != p.fields { // parts of two rows that a gap in a log joined
		return fmt.Errorf("disk %s: %d fields, and rows before it have %d", name, fields, p.fields)
	}
	if _, repeated := p.seen[string(name)]; repeated {
		return fmt.Errorf("%s %w", name, ErrRepeated)
	}
	n := len(p.snap.Devices)
	if n >= maxLines {
		return errTooManyLines
	}
	if n < cap(p.snap.Devices) {
		p.snap.Devices = p.snap.Devices[:n+1]
	} else {
		p.snap.Devices = append(p.snap.Devices, domain.DiskCounters{})
	}
	d := &p.snap.Devices[n]
	if d.Device != string(name) {
		d.Device = string(name)
	}
	p.seen[d.Device] = struct{}{}
	p.fields = fields
	// values[0] is field 4, reads completed; merged requests and sectors lie between.
	d.Reads, d.ReadMS, d.Writes, d.WriteMS, d.BusyMS = values[0], values[3], values[4], values[7], values[9]
	return nil
}

// Snapshot gives the rows taken since Begin. A cut row has no counters that
// could be mistaken: those in use are followed by another, so that Line
// refuses it.
func (p *DiskParser) Snapshot() *domain.DiskSnapshot { return &p.snap }

// Parse reads one whole snapshot; for its error see InterruptParser.Parse.
func (p *DiskParser) Parse(data []byte) (*domain.DiskSnapshot, error) {
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
	if p.Rows() == 0 && unread.Count == 0 {
		return nil, ErrEmpty
	}
	if unread.Count > 0 {
		return &p.snap, unread.err()
	}
	return &p.snap, nil
}

// IsDiskRow says whether line is a row of /proc/diskstats.
func IsDiskRow(line []byte) bool {
	name, _, _, err := diskRow(line)
	return err == nil && len(name) > 0
}

var errDiskRow = errors.New("not a row of /proc/diskstats")

// diskRow splits a row into the device's name and its first eleven counters, and
// counts its fields.
func diskRow(line []byte) (name []byte, values [minDiskFields - 3]uint64, fields int, err error) {
	for range 2 { // major and minor number
		var word []byte
		word, line = token(line)
		if _, ok := number(word); !ok {
			return nil, values, 0, errDiskRow
		}
	}
	name, line = token(line)
	if len(name) == 0 || len(name) > 64 || isDigit(name[0]) {
		return nil, values, 0, errDiskRow
	}
	for i := range values {
		var word []byte
		word, line = token(line)
		n, ok := number(word)
		if !ok {
			return nil, values, 0, fmt.Errorf("disk %s: field %d of %d is %.20q", name, i+4, minDiskFields, word)
		}
		values[i] = n
	}
	for fields = minDiskFields; ; fields++ {
		var word []byte
		word, line = token(line)
		if len(word) == 0 {
			return name, values, fields, nil
		}
		if _, ok := number(word); !ok {
			return nil, values, 0, fmt.Errorf("disk %s: field %d is %.20q", name, fields+1, word)
		}
	}
}
