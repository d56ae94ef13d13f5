package files

import (
	"context"
	"errors"
	"io"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// watchedStream is the content of a file on its way to a reader: it remembers
// what broke it, which the reader's own error may hide.
type watchedStream struct {
	ctx    context.Context //nolint:containedctx // lives as long as one reading of one file
	r      io.Reader
	broken error
}

func (w *watchedStream) Read(b []byte) (int, error) {
	if w.broken == nil {
		w.broken = w.ctx.Err()
	}
	if w.broken != nil {
		return 0, w.broken
	}
	n, err := w.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		w.broken = err
	}
	return n, err
}

// watchedSink remembers what the sink returned, to tell it from what a reader
// says of its file.
type watchedSink struct {
	to     ingest.Sink
	failed error
}

func (w *watchedSink) note(err error) error {
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return err
}

func (w *watchedSink) Interrupts(s *domain.InterruptSnapshot) error {
	return w.note(w.to.Interrupts(s))
}
func (w *watchedSink) Softirqs(s *domain.SoftirqSnapshot) error  { return w.note(w.to.Softirqs(s)) }
func (w *watchedSink) CPUTimes(s *domain.CPUTimesSnapshot) error { return w.note(w.to.CPUTimes(s)) }
func (w *watchedSink) Disks(s *domain.DiskSnapshot) error        { return w.note(w.to.Disks(s)) }
func (w *watchedSink) Topology(t domain.Topology) error          { return w.note(w.to.Topology(t)) }
func (w *watchedSink) CPU(s domain.CPUSample) error              { return w.note(w.to.CPU(s)) }
func (w *watchedSink) System(s domain.SystemSample) error        { return w.note(w.to.System(s)) }
func (w *watchedSink) Disk(s domain.DiskSample) error            { return w.note(w.to.Disk(s)) }
func (w *watchedSink) Placement(p domain.Placement) error        { return w.note(w.to.Placement(p)) }
func (w *watchedSink) Wait(x domain.Wait) error                  { return w.note(w.to.Wait(x)) }
func (w *watchedSink) Histogram(h *domain.HistogramSnapshot) error {
	return w.note(w.to.Histogram(h))
}
func (w *watchedSink) SystemEvent(e domain.SystemEvent) error { return w.note(w.to.SystemEvent(e)) }
func (w *watchedSink) Counter(c domain.Counter) error         { return w.note(w.to.Counter(c)) }
func (w *watchedSink) Instance(i domain.Instance) error       { return w.note(w.to.Instance(i)) }
