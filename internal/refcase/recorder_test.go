package refcase

import (
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// recorder keeps what a scenario sends.
type recorder struct {
	interrupts []*domain.InterruptSnapshot
	topology   []domain.Topology
	cpus       []domain.CPUSample
	system     []domain.SystemSample
	disks      []domain.DiskSample
	placements []domain.Placement
	waits      []domain.Wait
	histograms []*domain.HistogramSnapshot
	counters   []domain.Counter
	instances  []domain.Instance
}

var _ ingest.Sink = (*recorder)(nil)

func (r *recorder) Interrupts(s *domain.InterruptSnapshot) error {
	r.interrupts = append(r.interrupts, s.Clone())
	return nil
}

func (r *recorder) Topology(t domain.Topology) error {
	r.topology = append(r.topology, t)
	return nil
}

func (r *recorder) CPU(c domain.CPUSample) error {
	r.cpus = append(r.cpus, c)
	return nil
}

func (r *recorder) System(s domain.SystemSample) error {
	r.system = append(r.system, s)
	return nil
}

func (r *recorder) Disk(d domain.DiskSample) error {
	r.disks = append(r.disks, d)
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
	c.Buckets = append([]domain.HistogramBucket(nil), h.Buckets...)
	r.histograms = append(r.histograms, &c)
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

func (*recorder) Softirqs(*domain.SoftirqSnapshot) error  { return nil }
func (*recorder) CPUTimes(*domain.CPUTimesSnapshot) error { return nil }
func (*recorder) Disks(*domain.DiskSnapshot) error        { return nil }
func (*recorder) SystemEvent(domain.SystemEvent) error    { return nil }

// record generates a scenario into a recorder.
func record(t *testing.T, s Scenario) (*recorder, Truth) {
	t.Helper()
	r := &recorder{}
	truth, err := s.Generate(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, truth
}

// writeFiles generates a scenario into files of a new folder.
func writeFiles(t *testing.T, s Scenario) (dir string, truth Truth) {
	t.Helper()
	dir = t.TempDir()
	w, err := NewFileWriter(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	truth, err = s.Generate(w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, truth
}

// small is a quarter of an hour on 16 CPUs whose socket 1 is heavy (CPUs 4-7
// and 12-15, 2,000 interrupts/s each) and of which nothing stalls but what the
// test asks for.
func small() Scenario {
	return Scenario{
		Seed: 5, Node: "db7", Instance: "TST1", Hours: 0.25,
		Start:        time.Date(2026, time.May, 4, 14, 0, 0, 0, time.FixedZone("KST", 9*60*60)),
		Machine:      Machine{Sockets: 2, CoresPerSocket: 4, ThreadsPerCore: 2},
		Load:         Load{CommitsPerS: 500, Wander: 0.1, WanderSeconds: 30, BurstsPerHour: 30, BurstGain: 1.5, Busy: 0.1},
		Interconnect: Interconnect{Socket: 1, QueuesPerS: []float64{2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000}},
		LGWR:         LGWR{Dwell: 2 * time.Second, HeavyPull: 1, WritesPerS: 300},
		Stalls: Stalls{
			Cause: CauseNone, Min: 150 * time.Millisecond, Max: 500 * time.Millisecond, WaitersMin: 4, WaitersMax: 9,
		},
		Records: Records{
			Interrupts: 10 * time.Second, MPStat: 30 * time.Second, IOStat: time.Second, SysStat: 10 * time.Second,
			Histogram: 5 * time.Second, ASH: ASHFull, Cores: true, Bond: true,
		},
	}
}
