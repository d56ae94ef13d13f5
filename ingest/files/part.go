package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/corewait/corewait/domain"
)

// reading is one call of Read.
type reading struct {
	set     *Set
	zones   Zones
	to      *sharedSink
	tracker *tracker
}

// parts reads the parts of the lanes at the same time. The first error ends all
// and is given.
func (r *reading) parts(ctx context.Context, parts []*lanePart, room int64) (map[*source]outcome, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	tools := make(chan struct{})
	readings := make([]*partReading, len(parts))
	for i, p := range parts {
		part := &partReading{
			reading: r, ctx: inner, pending: p.sources, outcomes: map[*source]outcome{}, parked: map[*source]*parkedContent{},
			room: room / int64(len(parts)), sink: &laneSink{sharedSink: r.to, ctx: inner},
		}
		if !p.hasTools() && slices.ContainsFunc(parts, (*lanePart).hasTools) {
			part.sink.tools = tools
		}
		readings[i] = part
		wait.Go(func() {
			if p.hasTools() {
				defer close(tools)
			}
			if err := part.all(); err != nil && !errors.Is(err, errFailedElsewhere) {
				cancel(err) // the first one counts
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := context.Cause(inner); err != nil {
		return nil, err
	}
	outcomes := map[*source]outcome{}
	for _, part := range readings {
		maps.Copy(outcomes, part.outcomes)
	}
	return outcomes, nil
}

// partReading reads what one goroutine has to read.
type partReading struct {
	*reading

	ctx      context.Context //nolint:containedctx // lives as long as one call of Read
	sink     *laneSink
	pending  []*source // in the order to be read
	outcomes map[*source]outcome
	parked   map[*source]*parkedContent
	room     int64 // bytes that may still be parked
}

func (r *partReading) all() error {
	for len(r.pending) > 0 {
		if err := r.advance(); err != nil {
			return err
		}
	}
	return nil
}

// advance reads the first source that is pending, and with it what else of the
// same file on disk can be read in the same pass.
//
// Archives are not random access, so a pass over one reads each member whose
// turn it is, in the order of its kind, and parks in memory those whose turn
// has yet to come. Only what finds no room there costs another pass.
func (r *partReading) advance() error {
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
	err := r.set.pass(r.ctx, first.file, wanted, r.tracker.in(first.file), func(src *source, c content) error {
		if r.due(src) {
			return r.take(src, c.open)
		}
		return r.park(src, c.r)
	})
	if err != nil {
		return err
	}
	if !slices.Contains(r.pending, first) {
		return nil
	}
	r.drop(first)
	const gone = "not read: it changed or went away after it was looked at"
	r.outcomes[first] = outcome{input: domain.Input{Path: first.Name, Kind: string(first.Kind), Note: gone}, warning: gone}
	return nil
}

// due says whether no pending source of the same kind comes before src.
func (r *partReading) due(src *source) bool {
	i := slices.IndexFunc(r.pending, func(o *source) bool { return o.Kind == src.Kind })
	return r.pending[i] == src
}

func (r *partReading) drop(src *source) {
	i := slices.Index(r.pending, src)
	r.pending = slices.Delete(r.pending, i, i+1)
}

// take reads one source to its end.
func (r *partReading) take(src *source, open func() (io.Reader, func(), error)) error {
	r.drop(src)
	content, closing, err := open()
	if err != nil {
		return fmt.Errorf("%s: %w", src.Name, err)
	}
	defer closing()
	stream := &watchedStream{ctx: r.ctx, r: content}
	sink := &watchedSink{to: r.sink}
	in := &input{name: src.Name, zone: r.zones.of(src), bad: &problems{}}
	in.lines = newLineReader(stream, func(line int) {
		in.problem(line, "longer than "+bytesInWords(maxLine)+": not read")
	})
	err = src.format.read(r.ctx, in, sink)
	if sink.failed == nil {
		// What a reader leaves may hold damage, and the checksum comes behind it.
		_, _ = io.Copy(io.Discard, stream) // the stream remembers what broke it
	}
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
	}
	r.account(src, in, note)
	return nil
}

// brokenOff says how a packed file broke off. One that was cut holds true values
// up to there; but damage can look like a cut, and the checksum that would tell
// lies at the end. In one that was damaged the damage lies before the place where
// unpacking noticed it, in gzip up to the file's end.
func brokenOff(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "breaks off, cut short: read up to there, without the checksum at the end that would vouch for it"
	}
	return "breaks off, damaged (" + err.Error() + "): read up to there, and what stands before may be wrong"
}

// account keeps what reading a source came to.
func (r *partReading) account(src *source, in *input, note string) {
	entry := domain.Input{Path: src.Name, Kind: string(src.Kind), Records: in.count, Unread: in.bad.count, Note: note}
	if len(in.bad.first) > 0 {
		entry.FirstBad = &in.bad.first[0]
	}
	if in.count == 0 && note == "" {
		entry.Note = "nothing in it could be used"
	}
	r.outcomes[src] = outcome{input: entry, problems: in.bad.first, warning: note}
}
