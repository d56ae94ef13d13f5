package analysis

import (
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/ingest/files"
)

// counted tells how far the records of a node have come out of the store,
// measured by how many its files held: about, since readings became intervals.
type counted struct {
	ingest.IntervalSink

	tell        files.Progress // may be nil
	node        string
	done, total int64
}

func newCounted(to ingest.IntervalSink, tell files.Progress, node string, inputs []domain.Input) *counted {
	c := &counted{IntervalSink: to, tell: tell, node: node}
	for _, in := range inputs {
		c.total += in.Records
	}
	return c
}

func (c *counted) count() {
	c.done++
	if c.tell != nil && c.done%1000 == 0 {
		c.tell(files.StageRead, min(c.done, c.total), c.total, c.node)
	}
}

// The kinds that records are many of.

func (c *counted) InterruptSample(s *domain.InterruptSample) error {
	c.count()
	return c.IntervalSink.InterruptSample(s)
}

func (c *counted) CPU(s domain.CPUSample) error {
	c.count()
	return c.IntervalSink.CPU(s)
}

func (c *counted) Disk(d domain.DiskSample) error {
	c.count()
	return c.IntervalSink.Disk(d)
}

func (c *counted) Placement(p domain.Placement) error {
	c.count()
	return c.IntervalSink.Placement(p)
}

func (c *counted) Wait(w domain.Wait) error {
	c.count()
	return c.IntervalSink.Wait(w)
}
