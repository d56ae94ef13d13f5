package api_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

var _ ingest.IntervalSink = (*api.Encoder)(nil)

// booted is when the node of these tests booted.
var booted = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func newEncoder() *api.Encoder {
	return api.NewEncoder(func(t time.Time) int64 { return t.Sub(booted).Microseconds() })
}

func after(s float64) time.Time { return booted.Add(time.Duration(s * 1e9)) }

// What goes into the bytes is as short as batch.proto lets it be. Expected
// messages are written by hand from its comments.
func TestRecordsAreEncodedAsTheContractSays(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	cpu := func(id int, user float64) domain.CPUSample {
		return domain.CPUSample{
			At: after(2), Interval: time.Second, CPU: id, User: user, Nice: nan, System: nan, IOWait: nan, IRQ: nan, SoftIRQ: nan, Steal: nan, Guest: nan, Idle: nan,
		}
	}
	thread := func(at float64, interval time.Duration, cpu, policy int) domain.Placement {
		return domain.Placement{
			At: after(at), Interval: interval, PID: 5, TID: 6, Command: "ora_lgwr_A", CPU: cpu, State: 'S', CPUShare: nan, WaitShare: nan,
			Exec: 1_600 * time.Nanosecond, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: policy,
		}
	}
	yes := true
	for _, c := range []struct {
		name string
		give func(e *api.Encoder) error
		want *corewaitv1.Batch
	}{
		{"a reading of the clocks", func(e *api.Encoder) error {
			e.ClockReading(7, booted, &yes, 1_500*time.Microsecond)
			e.ClockReading(9, booted, nil, -1)
			return nil
		}, &corewaitv1.Batch{Clock: []*corewaitv1.ClockReading{{BoottimeUs: 7, UtcUs: booted.UnixMicro(), Synchronized: new(true), ErrorUs: 1_500}, {BoottimeUs: 9, UtcUs: booted.UnixMicro(), ErrorUs: -1}}}},
		{"CPUs 0 to n-1 are not listed", func(e *api.Encoder) error {
			return e.InterruptSample(&domain.InterruptSample{From: after(1), To: after(2), CPUs: []int{0, 1}, Counts: []int64{5, -7}})
		}, &corewaitv1.Batch{Interrupts: []*corewaitv1.InterruptSample{{FromUs: 1_000_000, ToUs: 2_000_000, Counts: []int64{5, -1}}}}},
		{"others are", func(e *api.Encoder) error {
			return e.InterruptSample(&domain.InterruptSample{From: after(1), To: after(2), CPUs: []int{0, 2}, Counts: []int64{5, 6}})
		}, &corewaitv1.Batch{Interrupts: []*corewaitv1.InterruptSample{{FromUs: 1_000_000, ToUs: 2_000_000, Cpus: []uint32{0, 2}, Counts: []int64{5, 6}}}}},
		{"a line is named once, and a gain that is unknown is a reading that is missing", func(e *api.Encoder) error {
			l := domain.Line{IRQ: "120", Device: "nvme0", Class: domain.ClassStorage}
			return e.DeviceSample(&domain.DeviceSample{From: after(1), To: after(2), Observed: time.Second, Untracked: 1, Gains: []domain.LineGain{
				{Line: l, CPU: 0, Count: 3}, {Line: l, CPU: 1, Count: -1}, {Line: l, CPU: 4, Count: 8},
			}})
		}, &corewaitv1.Batch{
			Lines:   []*corewaitv1.InterruptLine{{Irq: "120", Device: "nvme0", Class: corewaitv1.InterruptLine_CLASS_STORAGE}},
			Devices: []*corewaitv1.DeviceSample{{FromUs: 1_000_000, ToUs: 2_000_000, ObservedUs: 1_000_000, Line: []uint32{0, 0}, Cpu: []uint32{0, 4}, Counts: []uint64{3, 8}, Untracked: 2}},
		}},
		{"shares of which none is known are left out, those of a CPU in any order", func(e *api.Encoder) error {
			for _, s := range []domain.CPUSample{cpu(1, 0.5), cpu(0, nan), cpu(domain.AllCPUs, 0.25)} {
				if err := e.CPU(s); err != nil {
					return err
				}
			}
			return nil
		}, &corewaitv1.Batch{Cpu: []*corewaitv1.CPUSample{{FromUs: 1_000_000, ToUs: 2_000_000, User: []int32{-1, 5_000}, Host: &corewaitv1.HostShares{User: new(uint32(250_000))}}}}},
		{"where no share is known the CPUs are listed, and a share over the whole is unknown", func(e *api.Encoder) error {
			return e.CPU(cpu(0, 1.5))
		}, &corewaitv1.Batch{Cpu: []*corewaitv1.CPUSample{{FromUs: 1_000_000, ToUs: 2_000_000, Cpus: []uint32{0}}}}},
		{"samples of a thread are one run as long as each covers the time since the one before", func(e *api.Encoder) error {
			for _, p := range []domain.Placement{
				thread(1, 0, 3, 0), thread(1.05, 50*time.Millisecond, 3, 0), // the first one's values cover an unknown time
				thread(1.2, 50*time.Millisecond, 4, 0), thread(1.25, 50*time.Millisecond, 4, 2), // two were missed
			} {
				if err := e.Placement(p); err != nil {
					return err
				}
			}
			return nil
		}, &corewaitv1.Batch{Placement: []*corewaitv1.PlacementRun{
			{Command: "ora_lgwr_A", Pid: 5, Tid: 6, FirstUs: 1_000_000, AfterUs: []uint64{0, 50_000}, Cpu: []uint32{3, 3}, State: []byte("SS"), ExecUs: []int64{-1, 2}, Policy: []int32{0}},
			{
				Command: "ora_lgwr_A", Pid: 5, Tid: 6, FirstUs: 1_200_000, FirstIntervalUs: 50_000, AfterUs: []uint64{0, 50_000}, Cpu: []uint32{4, 4}, State: []byte("SS"),
				ExecUs: []int64{2, 2}, Policy: []int32{0, 2},
			},
		}}},
		{"gaps that are the same are one, and one before the boot is in UTC", func(e *api.Encoder) error {
			g := domain.Gap{Source: "interrupts", Reason: "missed-tick", From: after(1), To: after(2)}
			for _, g := range []domain.Gap{g, g, g, {Source: "agent", Reason: "restart", From: booted.Add(-time.Hour), To: after(1)}} {
				if err := e.Gap(g); err != nil {
					return err
				}
			}
			return nil
		}, &corewaitv1.Batch{Gaps: []*corewaitv1.Gap{
			{Source: "interrupts", Reason: "missed-tick", FromUs: 1_000_000, ToUs: 2_000_000, Events: 3},
			{Source: "agent", Reason: "restart", FromUtcUs: booted.Add(-time.Hour).UnixMicro(), ToUtcUs: after(1).UnixMicro()},
		}}},
		{"a bond and a process", func(e *api.Encoder) error {
			if err := e.BondEvent(after(1), "bond1", "ens3f0", "ens3f1"); err != nil {
				return err
			}
			return e.Watched(after(2), api.WatchedProcess{Command: "ora_lgwr_A", PID: 5, Instance: "A", StartTicks: 77}, true)
		}, &corewaitv1.Batch{
			BondEvents: []*corewaitv1.BondEvent{{AtUs: 1_000_000, Bond: "bond1", FromSlave: "ens3f0", ToSlave: "ens3f1"}},
			Watched:    []*corewaitv1.Watched{{FromUs: 2_000_000, Command: "ora_lgwr_A", Pid: 5, Instance: "A", StartTicks: 77, Ended: true}},
		}},
		{"a fixed IRQ of which it is not known where it goes", func(e *api.Encoder) error {
			return e.TopologyFrom(after(1), domain.Topology{Fixed: []int{9}, Affinity: map[int][]int{8: {1}}})
		}, &corewaitv1.Batch{Topology: []*corewaitv1.Topology{{FromUs: 1_000_000, Affinity: []*corewaitv1.Topology_Affinity{{Irq: 8, Cpus: []uint32{1}}, {Irq: 9, Fixed: true}}}}}},
		{"a CPU that was not there, and an average since boot, are left out", func(e *api.Encoder) error {
			s := cpu(0, 0)
			s.Offline = true
			if err := e.CPU(s); err != nil {
				return err
			}
			return e.System(domain.SystemSample{At: after(1), SinceBoot: true})
		}, &corewaitv1.Batch{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newEncoder()
			if err := c.give(e); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, e.Batch(), protocmp.Transform()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.want, e.Batch(), protocmp.Transform()); diff != "" {
				t.Errorf("when it is asked for again: -want +got:\n%s", diff)
			}
			e.Reset()
			if diff := cmp.Diff(&corewaitv1.Batch{}, e.Batch(), protocmp.Transform()); diff != "" {
				t.Errorf("after Reset:\n%s", diff)
			}
		})
	}
}

func TestWhatABatchCannotHoldIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		give func(e *api.Encoder) error
	}{
		{"interrupt sample: its time is unknown", func(e *api.Encoder) error { return e.InterruptSample(&domain.InterruptSample{To: after(2)}) }},
		{"interrupt sample: its interval is empty", func(e *api.Encoder) error {
			return e.InterruptSample(&domain.InterruptSample{From: after(2), To: after(2)})
		}},
		{"interrupt sample: 1 CPUs and 0 counts", func(e *api.Encoder) error {
			return e.InterruptSample(&domain.InterruptSample{From: after(1), To: after(2), CPUs: []int{0}})
		}},
		{"interrupt sample: no CPU", func(e *api.Encoder) error {
			return e.InterruptSample(&domain.InterruptSample{From: after(1), To: after(2)})
		}},
		{"interrupt sample: CPU 0: want ids in ascending order", func(e *api.Encoder) error {
			return e.InterruptSample(&domain.InterruptSample{From: after(1), To: after(2), CPUs: []int{1, 0}, Counts: []int64{1, 2}})
		}},
		{"device sample: CPU -1", func(e *api.Encoder) error {
			return e.DeviceSample(&domain.DeviceSample{From: after(1), To: after(2), Gains: []domain.LineGain{{CPU: -1}}})
		}},
		{"softirq sample: 1 CPUs, 1 counts and 2 maxima", func(e *api.Encoder) error {
			return e.SoftirqSample(&domain.SoftirqSample{From: after(1), To: after(2), CPUs: []int{0}, Counts: []int64{1}, MaxPerS: []int64{1, 2}})
		}},
		{"CPU sample: an interval of 0s cannot be", func(e *api.Encoder) error { return e.CPU(domain.CPUSample{At: after(1)}) }},
		{"CPU sample: an interval of 2s cannot be", func(e *api.Encoder) error { return e.CPU(domain.CPUSample{At: after(1), Interval: 2 * time.Second}) }},
		{"CPU sample: CPU 40000", func(e *api.Encoder) error { return e.CPU(domain.CPUSample{At: after(1), Interval: 1e9, CPU: 40_000}) }},
		{"system sample: 2026-01-02T11:59:59Z is not of this boot", func(e *api.Encoder) error { return e.System(domain.SystemSample{At: after(-1)}) }},
		{"disk sample: its time is unknown", func(e *api.Encoder) error { return e.Disk(domain.DiskSample{}) }},
		{"placement of c: CPU -1", func(e *api.Encoder) error { return e.Placement(domain.Placement{At: after(1), Command: "c", CPU: -1}) }},
		{"placement of c: PID -1, thread 0", func(e *api.Encoder) error { return e.Placement(domain.Placement{At: after(1), Command: "c", PID: -1}) }},
		{"placement of c: an interval of 2s", func(e *api.Encoder) error {
			return e.Placement(domain.Placement{At: after(1), Command: "c", Interval: 2 * time.Second})
		}},
		{"topology: a batch says from when on", func(e *api.Encoder) error { return e.Topology(domain.Topology{}) }},
		{"topology: CPU -1", func(e *api.Encoder) error {
			return e.TopologyFrom(after(1), domain.Topology{CPUs: []domain.CPU{{ID: -1}}})
		}},
		{"topology: port p: IRQ -4", func(e *api.Encoder) error {
			return e.TopologyFrom(after(1), domain.Topology{Ports: []domain.Port{{Name: "p", IRQs: []int{-4}}}})
		}},
		{"topology: IRQ 4 on CPU -1", func(e *api.Encoder) error {
			return e.TopologyFrom(after(1), domain.Topology{Affinity: map[int][]int{4: {-1}}})
		}},
		{"gap: its time is unknown", func(e *api.Encoder) error { return e.Gap(domain.Gap{}) }},
		{"gap: it ends before it begins", func(e *api.Encoder) error { return e.Gap(domain.Gap{From: after(2), To: after(1)}) }},
		{"bond event: its time is unknown", func(e *api.Encoder) error { return e.BondEvent(time.Time{}, "b", "", "") }},
		{"watched process: PID -1", func(e *api.Encoder) error { return e.Watched(after(1), api.WatchedProcess{PID: -1}, false) }},
		{"a batch takes what counters gained", func(e *api.Encoder) error { return e.Interrupts(nil) }},
		{"a batch takes what a node's kernel says", func(e *api.Encoder) error { return e.Wait(domain.Wait{}) }},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			e := newEncoder()
			if err := c.give(e); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if diff := cmp.Diff(&corewaitv1.Batch{}, e.Batch(), protocmp.Transform()); diff != "" {
				t.Errorf("something of it was taken:\n%s", diff)
			}
		})
	}
}
