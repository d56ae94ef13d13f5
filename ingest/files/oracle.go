package files

import (
	"bytes"
	"context"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// oracleKinds are the kinds of result sets, what they tell of commits first: a
// file that holds several is named after the first of these that it holds.
func oracleKinds() []Kind {
	return []Kind{KindASH, KindEventHistogram, KindSystemEvent, KindSysstat, KindInstance, KindInterconnects}
}

// oracleFormats are the result sets of Oracle views, as CSV, TSV, separated by
// semicolons or bars, or as SQL*Plus prints and spools them. They are told by
// their headings.
func oracleFormats() []format {
	kinds := oracleKinds()
	formats := make([]format, 0, len(kinds))
	for _, kind := range kinds {
		formats = append(formats, format{
			kind:  kind,
			clock: clockDB,
			probe: func(head []byte) (probed, bool) { return probeOracle(head, kind) },
			read:  readOracle,
		})
	}
	return formats
}

// readOracle sends the rows of every result set of a file, whatever their
// kinds: one spool may hold several.
func readOracle(ctx context.Context, in *input, to ingest.Sink) error {
	return newOracleFile(in, to).read(ctx)
}

// oracleFile is one file of result sets being read.
type oracleFile struct {
	in    *input
	to    ingest.Sink
	clock oracleClock
	texts texts
	kinds map[Kind]bool // of the result sets met so far

	// histograms holds what was sent last of each series: a file may alternate
	// between result sets.
	histograms map[histogramKey]sentHistogram
}

func newOracleFile(in *input, to ingest.Sink) *oracleFile {
	return &oracleFile{
		in:    in,
		to:    to,
		clock: oracleClock{zone: in.zone},
		texts: make(texts),
		kinds: make(map[Kind]bool),

		histograms: make(map[histogramKey]sentHistogram),
	}
}

func (f *oracleFile) read(ctx context.Context) error {
	return newSpool(f.in, f.openTable).read(ctx)
}

// openTable gives what takes the rows under a heading; nil where the heading
// is of no view that is read here.
func (f *oracleFile) openTable(line int, names []string) oracleTable {
	columns := newOracleColumns(names)
	kind, known := columns.kind()
	if !known {
		return nil
	}
	f.kinds[kind] = true
	at, utc := columns.snapshotTime()
	if at < 0 && kind != KindASH && kind != KindInstance && kind != KindInterconnects {
		return &timelessTable{in: f.in, line: line, kind: kind}
	}
	reading := snapshotColumns{file: f, at: at, utc: utc, inst: columns.first("INST_ID", "INSTANCE_NUMBER")}
	switch kind {
	case KindASH:
		return newASHTable(f, columns)
	case KindEventHistogram:
		return newHistogramTable(reading, columns)
	case KindSystemEvent:
		return newSystemEventTable(reading, columns)
	case KindSysstat:
		return newSysstatTable(reading, columns)
	case KindInstance:
		return newInstanceTable(f, columns)
	default:
		return &interconnectTable{file: f, name: columns.first("NAME"), public: columns.first("IS_PUBLIC")}
	}
}

// timelessTable says once that counters without the time of their reading are
// of no use, and drops their rows.
type timelessTable struct {
	in   *input
	line int
	kind Kind
	told bool
}

func (t *timelessTable) row(int, [][]byte) error {
	if !t.told {
		t.told = true
		t.in.problem(t.line, string(t.kind)+
			" rows without the time of their reading: select SYSTIMESTAMP AS SNAP_TIME beside them")
	}
	return nil
}

func (t *timelessTable) lost() {}

func (t *timelessTable) end(bool) error { return t.row(t.line, nil) }

// probeOracle looks for headings of the kind in a file's beginning.
func probeOracle(head []byte, kind Kind) (probed, bool) {
	if !mayHoldHeadings(head) {
		return probed{}, false
	}
	seen := &oracleProbe{instances: make(map[int]domain.Instance)}
	in := &input{
		zone:  time.UTC,
		lines: newLineReader(bytes.NewReader(head), func(int) {}),
		bad:   &problems{},
	}
	file := newOracleFile(in, seen)
	if err := file.read(context.Background()); err != nil {
		return probed{}, false
	}
	for _, k := range oracleKinds() {
		if file.kinds[k] {
			if k != kind {
				return probed{}, false
			}
			return seen.told(&file.clock), true
		}
	}
	return probed{}, false
}

// mayHoldHeadings tells most other files at little cost.
func mayHoldHeadings(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	for _, word := range []string{"EVENT", "NAME", "event", "name", "Event", "Name"} {
		if bytes.Contains(head, []byte(word)) {
			return true
		}
	}
	return false
}

// oracleProbe notes what the first rows of a file say of it. The readers of
// result sets call no other methods of Sink than these.
type oracleProbe struct {
	ingest.Sink
	first     time.Time
	instances map[int]domain.Instance
}

func (p *oracleProbe) told(clock *oracleClock) probed {
	t := probed{
		zone:     clock.seen,
		first:    p.first,
		hasTimes: !p.first.IsZero(),
		absolute: clock.seen == nil && clock.utc,
	}
	if len(p.instances) == 1 {
		for _, i := range p.instances {
			t.host, t.instance = i.Host, i.Name
		}
	}
	return t
}

func (p *oracleProbe) note(at time.Time) error {
	if p.first.IsZero() {
		p.first = at
	}
	return nil
}

func (p *oracleProbe) Wait(w domain.Wait) error                    { return p.note(w.At) }
func (p *oracleProbe) Histogram(h *domain.HistogramSnapshot) error { return p.note(h.At) }
func (p *oracleProbe) SystemEvent(e domain.SystemEvent) error      { return p.note(e.At) }
func (p *oracleProbe) Counter(c domain.Counter) error              { return p.note(c.At) }
func (p *oracleProbe) Topology(domain.Topology) error              { return nil }
func (p *oracleProbe) Instance(i domain.Instance) error            { p.instances[i.InstID] = i; return nil }
