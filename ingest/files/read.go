package files

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

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
// Files whose records have nothing to do with one another are read at the same
// time: the sink is called from several goroutines, one at a time, and what it
// gathers from each lane comes in the same order whatever the machine.
//
// It fails where ctx ends, a limit is exceeded, or the sink returns an error,
// which it gives wrapped. No goroutine is left when it returns. progress may be
// nil.
func (s *Set) Read(ctx context.Context, node string, zones Zones, to ingest.Sink, progress Progress) (*Report, error) {
	return s.read(ctx, node, zones, to, progress, parkingRoom)
}

func (s *Set) read(ctx context.Context, node string, zones Zones, to ingest.Sink, progress Progress, room int64) (*Report, error) {
	var pending []*source
	for _, src := range s.sources {
		if slices.Contains(src.Nodes, node) {
			pending = append(pending, src)
		}
	}
	pending, copies := dropCopies(pending)
	zones.order(pending)
	all := &reading{set: s, zones: zones, to: &sharedSink{to: to}, tracker: newTracker(progress, StageRead, s.files)}
	for _, src := range pending {
		all.tracker.expect(src.file)
	}
	outcomes, err := all.parts(ctx, partLanes(pending), room)
	if err != nil {
		return nil, err
	}
	report := &Report{Inputs: copies}
	for _, src := range pending { // one order, whichever was read first
		o := outcomes[src]
		report.Inputs = append(report.Inputs, o.input)
		report.Problems = append(report.Problems, o.problems...)
		if o.warning != "" {
			report.Warnings = append(report.Warnings, src.Name+": "+o.warning)
		}
	}
	slices.SortFunc(report.Inputs, func(a, b domain.Input) int { return strings.Compare(a.Path, b.Path) })
	return report, nil
}

// outcome is what reading one source came to.
type outcome struct {
	input    domain.Input
	problems []string
	warning  string
}

// dropCopies leaves out sources that are copies of another, and says which.
func dropCopies(pending []*source) (kept []*source, copies []domain.Input) {
	seen := map[[32]byte][]*source{}
	for _, src := range pending {
		same := seen[src.content]
		if i := slices.IndexFunc(same, src.copyOf); i >= 0 {
			copies = append(copies, domain.Input{
				Path: src.Name, Kind: string(src.Kind), Note: "copy of " + same[i].Name + ": read once",
			})
			continue
		}
		seen[src.content] = append(same, src)
		kept = append(kept, src)
	}
	return kept, copies
}

// order sorts what is to be read by first time, then name.
func (z *Zones) order(pending []*source) {
	first := make(map[*source]time.Time, len(pending))
	for _, src := range pending {
		first[src] = z.instant(src)
	}
	slices.SortStableFunc(pending, func(a, b *source) int {
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
