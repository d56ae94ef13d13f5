package files

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// lane is a part of what a consumer keeps: records of one lane are joined with
// one another, so their files are read one after another. Lanes are read at the
// same time.
type lane uint8

const (
	// laneTools: mpstat, vmstat, iostat.
	laneTools lane = iota
	// lanePlacement: pidstat, ps.
	lanePlacement
	// laneOracle: result sets; one spool may hold several.
	laneOracle
	// laneProc: files under /proc, of which one log may hold any mixture, and
	// what else makes up the topology, as bonds in such a log do.
	laneProc
	lanes // their number
)

func laneOf(k Kind) lane {
	switch k {
	case KindMpstat, KindVmstat, KindIostat:
		return laneTools
	case KindPidstat, KindPs:
		return lanePlacement
	case KindASH, KindEventHistogram, KindSystemEvent, KindSysstat, KindInstance, KindInterconnects:
		return laneOracle
	default:
		return laneProc
	}
}

// lanePart is what one goroutine reads: one lane, or several that an archive
// holds files of, since an archive is read from end to end.
type lanePart struct {
	lanes   []lane
	sources []*source // in the order to be read
}

func (p *lanePart) hasTools() bool { return slices.Contains(p.lanes, laneTools) }

// partLanes parts what is to be read. The parts depend on the files alone, never on
// how many processors there are.
func partLanes(pending []*source) []*lanePart {
	var same [lanes]lane // the lane that each is read with
	for l := range lanes {
		same[l] = l
	}
	first := map[int]lane{} // by file on disk
	for _, src := range pending {
		l := laneOf(src.Kind)
		other, met := first[src.file]
		if !met {
			first[src.file] = l
			continue
		}
		from, to := max(same[l], same[other]), min(same[l], same[other])
		for k := range same {
			if same[k] == from {
				same[k] = to
			}
		}
	}
	var by [lanes]*lanePart
	var parts []*lanePart
	for _, src := range pending {
		l := laneOf(src.Kind)
		p := by[same[l]]
		if p == nil {
			p = &lanePart{}
			by[same[l]] = p
			parts = append(parts, p)
		}
		p.sources = append(p.sources, src)
		if !slices.Contains(p.lanes, l) {
			p.lanes = append(p.lanes, l)
		}
	}
	return parts
}

// sharedSink lets several goroutines send to one sink, one record at a time.
// After an error of the sink nothing more is sent to it.
type sharedSink struct {
	mu     sync.Mutex
	to     ingest.Sink
	failed bool
}

// laneSink is a sharedSink as one part of the lanes sees it.
//
// Logs of /proc may hold what mpstat, vmstat and iostat tell as well: CPU times
// and disks. Where both are there, what the tools say is sent first, always, so
// that the outcome does not depend on which goroutine is faster.
type laneSink struct {
	*sharedSink

	ctx   context.Context //nolint:containedctx // lives as long as one call of Read
	tools <-chan struct{} // closed when the tools' lane is read; nil where this part need not wait
}

// afterTools waits for the tools' lane.
func (s *laneSink) afterTools() error {
	if s.tools == nil {
		return nil
	}
	select {
	case <-s.tools:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// errFailedElsewhere says that the sink failed on a record of another part,
// which tells the error.
var errFailedElsewhere = errors.New("the sink failed on another file")

// send sends one record, unless the sink has failed.
func (s *laneSink) send(record func(to ingest.Sink) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed {
		return errFailedElsewhere
	}
	err := record(s.to)
	s.failed = err != nil
	return err
}

func (s *laneSink) Interrupts(x *domain.InterruptSnapshot) error {
	return s.send(func(to ingest.Sink) error { return to.Interrupts(x) })
}

func (s *laneSink) Softirqs(x *domain.SoftirqSnapshot) error {
	return s.send(func(to ingest.Sink) error { return to.Softirqs(x) })
}

func (s *laneSink) CPUTimes(x *domain.CPUTimesSnapshot) error {
	if err := s.afterTools(); err != nil {
		return err
	}
	return s.send(func(to ingest.Sink) error { return to.CPUTimes(x) })
}

func (s *laneSink) Disks(x *domain.DiskSnapshot) error {
	if err := s.afterTools(); err != nil {
		return err
	}
	return s.send(func(to ingest.Sink) error { return to.Disks(x) })
}

func (s *laneSink) Topology(x domain.Topology) error {
	return s.send(func(to ingest.Sink) error { return to.Topology(x) })
}

func (s *laneSink) CPU(x domain.CPUSample) error {
	return s.send(func(to ingest.Sink) error { return to.CPU(x) })
}

func (s *laneSink) System(x domain.SystemSample) error {
	return s.send(func(to ingest.Sink) error { return to.System(x) })
}

func (s *laneSink) Disk(x domain.DiskSample) error {
	return s.send(func(to ingest.Sink) error { return to.Disk(x) })
}

func (s *laneSink) Placement(x domain.Placement) error {
	return s.send(func(to ingest.Sink) error { return to.Placement(x) })
}

func (s *laneSink) Wait(x domain.Wait) error {
	return s.send(func(to ingest.Sink) error { return to.Wait(x) })
}

func (s *laneSink) Histogram(x *domain.HistogramSnapshot) error {
	return s.send(func(to ingest.Sink) error { return to.Histogram(x) })
}

func (s *laneSink) SystemEvent(x domain.SystemEvent) error {
	return s.send(func(to ingest.Sink) error { return to.SystemEvent(x) })
}

func (s *laneSink) Counter(x domain.Counter) error {
	return s.send(func(to ingest.Sink) error { return to.Counter(x) })
}

func (s *laneSink) Instance(x domain.Instance) error {
	return s.send(func(to ingest.Sink) error { return to.Instance(x) })
}
