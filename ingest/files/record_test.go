package files

import (
	"slices"

	"github.com/corewait/corewait/domain"
)

// recorder is a sink that keeps every record, for tests to look at.
type recorder struct {
	interrupts   []*domain.InterruptSnapshot // cloned
	softirqs     []domain.SoftirqSnapshot    // cloned
	cpuTimes     []domain.CPUTimesSnapshot   // cloned
	disks        []domain.DiskSnapshot       // cloned
	topologies   []domain.Topology
	cpus         []domain.CPUSample
	systems      []domain.SystemSample
	diskSamples  []domain.DiskSample
	placements   []domain.Placement
	waits        []domain.Wait
	histograms   []domain.HistogramSnapshot // cloned
	systemEvents []domain.SystemEvent
	counters     []domain.Counter
	instances    []domain.Instance
}

func (r *recorder) Interrupts(s *domain.InterruptSnapshot) error {
	r.interrupts = append(r.interrupts, s.Clone())
	return nil
}

func (r *recorder) Softirqs(s *domain.SoftirqSnapshot) error {
	c := domain.SoftirqSnapshot{At: s.At, CPUs: slices.Clone(s.CPUs), Names: slices.Clone(s.Names)}
	for _, counts := range s.Counts {
		c.Counts = append(c.Counts, slices.Clone(counts))
	}
	r.softirqs = append(r.softirqs, c)
	return nil
}

func (r *recorder) CPUTimes(s *domain.CPUTimesSnapshot) error {
	c := *s
	c.CPUs = slices.Clone(s.CPUs)
	r.cpuTimes = append(r.cpuTimes, c)
	return nil
}

func (r *recorder) Disks(s *domain.DiskSnapshot) error {
	r.disks = append(r.disks, domain.DiskSnapshot{At: s.At, Devices: slices.Clone(s.Devices)})
	return nil
}

func (r *recorder) Topology(t domain.Topology) error {
	r.topologies = append(r.topologies, t)
	return nil
}

func (r *recorder) CPU(s domain.CPUSample) error {
	r.cpus = append(r.cpus, s)
	return nil
}

func (r *recorder) System(s domain.SystemSample) error {
	r.systems = append(r.systems, s)
	return nil
}

func (r *recorder) Disk(s domain.DiskSample) error {
	r.diskSamples = append(r.diskSamples, s)
	return nil
}

func (r *recorder) Placement(p domain.Placement) error {
	r.placements = append(r.placements, p)
	return nil
}

func (r *recorder) Wait(w domain.Wait) error {
	r.waits = append(r.waits, w)
	return nil
}

func (r *recorder) Histogram(h *domain.HistogramSnapshot) error {
	c := *h
	c.Buckets = slices.Clone(h.Buckets)
	r.histograms = append(r.histograms, c)
	return nil
}

func (r *recorder) SystemEvent(e domain.SystemEvent) error {
	r.systemEvents = append(r.systemEvents, e)
	return nil
}

func (r *recorder) Counter(c domain.Counter) error {
	r.counters = append(r.counters, c)
	return nil
}

func (r *recorder) Instance(i domain.Instance) error {
	r.instances = append(r.instances, i)
	return nil
}
