// Package ingest owns how data gets in: it declares Sink, which every source
// of records (files, Oracle pulls, agents) feeds and every keeper of records
// (series, store) implements.
package ingest

import "github.com/corewait/corewait/domain"

// Sink takes the records of one node. Times are UTC instants: a source turns
// local times into instants before it calls. Records of one kind come in the
// order of their source; sources may overlap. Pointers are valid during the
// call only. An error means that reading must stop.
type Sink interface {
	Interrupts(s *domain.InterruptSnapshot) error
	Softirqs(s *domain.SoftirqSnapshot) error
	CPUTimes(s *domain.CPUTimesSnapshot) error
	Disks(s *domain.DiskSnapshot) error
	Topology(t domain.Topology) error // a fragment, to be merged

	CPU(s domain.CPUSample) error
	System(s domain.SystemSample) error
	Disk(s domain.DiskSample) error
	Placement(p domain.Placement) error

	Wait(w domain.Wait) error
	Histogram(h *domain.HistogramSnapshot) error
	SystemEvent(e domain.SystemEvent) error
	Counter(c domain.Counter) error
	Instance(i domain.Instance) error
}

// IntervalSink takes, beside records, what counters gained over intervals: as
// agents send it, as the store keeps it, and as series make it of readings.
type IntervalSink interface {
	Sink
	InterruptSample(s *domain.InterruptSample) error
	DeviceSample(s *domain.DeviceSample) error
	SoftirqSample(s *domain.SoftirqSample) error
	Gap(g domain.Gap) error
}
