package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// Progress is told how many bytes on disk have been read of how many, and the
// file being read.
type Progress func(done, total int64, name string)

// Report says what reading a node's files came to.
type Report struct {
	Inputs   []domain.Input // one for each file, by name
	Problems []string       // "file:line: why", the first few of each file
	Warnings []string
}

// Read sends the records of one node's files to the sink. Files of one kind
// are read in the order of their first times, so that rotated logs chain;
// files without times come first. Copies of a file are read once. A file that
// breaks off is used up to there, and a problem says where.
//
// It fails where ctx ends, a limit is exceeded, or the sink returns an error,
// which it gives wrapped. progress may be nil.
func (s *Set) Read(ctx context.Context, node string, zones Zones, to ingest.Sink, progress Progress) (*Report, error) {
	return s.read(ctx, node, zones, to, progress, parkingRoom)
}

func (s *Set) read(ctx context.Context, node string, zones Zones, to ingest.Sink, progress Progress, room int64) (*Report, error) {
	r := &reading{ctx: ctx, set: s, zones: zones, to: to, progress: progress, report: &Report{}, parked: map[*source]*parkedContent{}, room: room}
	for _, src := range s.sources {
		if slices.Contains(src.Nodes, node) {
			r.pending = append(r.pending, src)
		}
	}
	r.dropCopies()
	r.order()
	r.track()
	for len(r.pending) > 0 {
		if err := r.advance(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.report.Inputs, func(a, b domain.Input) int { return strings.Compare(a.Path, b.Path) })
	return r.report, nil
}

// reading is one call of Read.
type reading struct {
	ctx      context.Context //nolint:containedctx // lives as long as one call of Read
	set      *Set
	zones    Zones
	to       ingest.Sink
	progress Progress
	report   *Report
	pending  []*source // in the order to be read
	parked   map[*source]*parkedContent
	room     int64 // bytes that may still be parked

	done, total int64
	reached     map[int]int64 // offset reached in each file on disk
}

// dropCopies leaves out sources that are copies of another, and says so.
func (r *reading) dropCopies() {
	var kept []*source
	seen := map[[32]byte][]*source{}
	for _, src := range r.pending {
		same := seen[src.content]
		if i := slices.IndexFunc(same, src.copyOf); i >= 0 {
			r.report.Inputs = append(r.report.Inputs, domain.Input{
				Path: src.Name, Kind: string(src.Kind), Note: "copy of " + same[i].Name + ": read once",
			})
			continue
		}
		seen[src.content] = append(same, src)
		kept = append(kept, src)
	}
	r.pending = kept
}

// order sorts what is to be read by first time, then name.
func (r *reading) order() {
	first := make(map[*source]time.Time, len(r.pending))
	for _, src := range r.pending {
		first[src] = r.zones.instant(src)
	}
	slices.SortStableFunc(r.pending, func(a, b *source) int {
		return cmp.Or(first[a].Compare(first[b]), strings.Compare(a.Name, b.Name))
	})
}

// instant gives the first time of a source as an instant; zero unknown.
func (z *Zones) instant(src *source) time.Time {
	t := src.FirstTime
	if t.IsZero() || src.Zone != nil || src.probed.absolute {
		return t
	}
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), z.of(src))
}

// advance reads the first source that is pending, and with it what else of the
// same file on disk can be read in the same pass.
//
// Archives are not random access, so a pass over one reads each member whose
// turn it is, in the order of its kind, and parks in memory those whose turn
// has yet to come. Only what finds no room there costs another pass.
func (r *reading) advance() error {
	first := r.pending[0]
	if p := r.parked[first]; p != nil {
		delete(r.parked, first)
		r.room += p.size()
		return r.take(first, p.reader)
	}
	wanted := map[int]*source{}
	for _, src := range r.pending {
		if src.file == first.file && r.parked[src] == nil {
			wanted[src.ordinal] = src
		}
	}
	err := r.set.pass(r.ctx, first.file, wanted, r.reachedIn(first), func(src *source, content io.Reader) error {
		if r.due(src) {
			return r.take(src, func() (io.Reader, func(), error) { return content, func() {}, nil })
		}
		return r.park(src, content)
	})
	if err != nil {
		return err
	}
	if r.pending == nil || !slices.Contains(r.pending, first) {
		return nil
	}
	r.drop(first)
	r.report.Inputs = append(r.report.Inputs, domain.Input{
		Path: first.Name, Kind: string(first.Kind), Note: "not read: it changed or went away after it was looked at",
	})
	r.report.Warnings = append(r.report.Warnings, first.Name+": not read: it changed or went away after it was looked at")
	return nil
}

// due says whether no pending source of the same kind comes before src.
func (r *reading) due(src *source) bool {
	i := slices.IndexFunc(r.pending, func(o *source) bool { return o.Kind == src.Kind })
	return r.pending[i] == src
}

func (r *reading) drop(src *source) {
	i := slices.Index(r.pending, src)
	r.pending = slices.Delete(r.pending, i, i+1)
}

// take reads one source to its end.
func (r *reading) take(src *source, open func() (io.Reader, func(), error)) error {
	r.drop(src)
	content, closing, err := open()
	if err != nil {
		return fmt.Errorf("%s: %w", src.Name, err)
	}
	defer closing()
	stream := &watchedStream{ctx: r.ctx, r: content}
	sink := &watchedSink{to: r.to}
	in := &input{name: src.Name, zone: r.zones.of(src), bad: &problems{}}
	in.lines = newLineReader(stream, func(line int) {
		in.problem(line, "longer than "+bytesInWords(maxLine)+": not read")
	})
	err = src.format.read(r.ctx, in, sink)
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case fatal(stream.broken):
		return stream.broken
	case sink.failed != nil:
		return fmt.Errorf("%s: %w", src.Name, sink.failed)
	}
	note := ""
	switch {
	case stream.broken != nil:
		note = brokenOff(stream.broken)
	case err != nil:
		note = "the rest is not read: " + err.Error()
	}
	if note != "" {
		in.problem(in.lines.number, note)
		note = fmt.Sprintf("after line %d: %s", in.lines.number, note)
		r.report.Warnings = append(r.report.Warnings, src.Name+": "+note)
	}
	r.account(src, in, note)
	return nil
}

// brokenOff says how a file broke off. A packed file that was cut holds true
// values up to there. In one that was damaged the damage lies before the place
// where unpacking noticed it, in gzip up to the file's end.
func brokenOff(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "breaks off, cut short: read up to there"
	}
	return "breaks off, damaged (" + err.Error() + "): read up to there, and what stands before may be wrong"
}

// account adds a source that was read to the report.
func (r *reading) account(src *source, in *input, note string) {
	entry := domain.Input{Path: src.Name, Kind: string(src.Kind), Records: in.count, Unread: in.bad.count, Note: note}
	if len(in.bad.first) > 0 {
		entry.FirstBad = &in.bad.first[0]
	}
	if in.count == 0 && note == "" {
		entry.Note = "nothing in it could be used"
	}
	r.report.Inputs = append(r.report.Inputs, entry)
	r.report.Problems = append(r.report.Problems, in.bad.first...)
}

// track sums up the files on disk that will be read.
func (r *reading) track() {
	r.reached = map[int]int64{}
	for _, src := range r.pending {
		if _, ok := r.reached[src.file]; !ok {
			r.reached[src.file] = 0
			r.total += r.set.files[src.file].size
		}
	}
}

// reachedIn gives what tells the progress within the file on disk of src.
// Passes after the first add nothing.
func (r *reading) reachedIn(src *source) func(int64) {
	if r.progress == nil {
		return nil
	}
	d := r.set.files[src.file]
	return func(offset int64) {
		offset = min(offset, d.size)
		if offset <= r.reached[src.file] {
			return
		}
		r.done += offset - r.reached[src.file]
		r.reached[src.file] = offset
		r.progress(r.done, r.total, d.name)
	}
}
