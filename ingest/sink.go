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
	Interrupts(*domain.InterruptSnapshot) error
	Softirqs(*domain.SoftirqSnapshot) error
	CPUTimes(*domain.CPUTimesSnapshot) error
	Disks(*domain.DiskSnapshot) error
	Topology(domain.Topology) error // a fragment, to be merged

	CPU(domain.CPUSample) error
	System(domain.SystemSample) error
	Disk(domain.DiskSample) error
	Placement(domain.Placement) error

	Wait(domain.Wait) error
	Histogram(*domain.HistogramSnapshot) error
	SystemEvent(domain.SystemEvent) error
	Counter(domain.Counter) error
	Instance(domain.Instance) error
}
