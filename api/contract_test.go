package api_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
)

var update = flag.Bool("update", false, "write testdata/batch.bin anew: only after a field was added")

// What is generated is what batch.proto says: compiled here anew by another
// compiler than the one that generated it.
func TestGeneratedCodeIsThatOfTheContract(t *testing.T) {
	t.Parallel()
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{"."}}}
	files, err := c.Compile(t.Context(), "corewaitv1/batch.proto")
	if err != nil {
		t.Fatal(err)
	}
	want := protodesc.ToFileDescriptorProto(files[0])
	got := protodesc.ToFileDescriptorProto(corewaitv1.File_corewaitv1_batch_proto)
	want.SourceCodeInfo = nil
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("batch.pb.go is not batch.proto's; generate it anew (-batch.proto +generated):\n%s", diff)
	}
}

// exampleBatch has a value in every field.
func exampleBatch() *corewaitv1.Batch {
	shares := func() *corewaitv1.HostShares {
		return &corewaitv1.HostShares{
			User: new(uint32(120_000)), System: new(uint32(60_000)), Iowait: new(uint32(5_000)), Irq: new(uint32(1)), Softirq: new(uint32(20_000)),
			Steal: new(uint32(2)), Idle: new(uint32(794_997)),
		}
	}
	return &corewaitv1.Batch{
		SpoolId: []byte("0123456789abcdef"), Sequence: 42, BootId: "0f3c8a52-5b7e-4a3e-9a55-1c7d2f60b9aa", Hostname: "db1.example", AgentVersion: "1.2.3",
		Clock: []*corewaitv1.ClockReading{{BoottimeUs: 7_000_000, UtcUs: 1_767_355_200_000_000, Synchronized: new(true), ErrorUs: 1_500}},
		Lines: []*corewaitv1.InterruptLine{{Irq: "120", Device: "ens3f0", Class: corewaitv1.InterruptLine_CLASS_NETWORK}},
		Interrupts: []*corewaitv1.InterruptSample{{
			FromUs: 7_000_000, ToUs: 8_000_100, Cpus: []uint32{0, 2}, Counts: []int64{1_234, -1}, Wrapped: 3, Implausible: 4,
		}},
		Devices: []*corewaitv1.DeviceSample{{
			FromUs: 7_000_000, ToUs: 17_000_000, ObservedUs: 9_000_000, Line: []uint32{0}, Cpu: []uint32{24}, Counts: []uint64{5_000_000_000}, Untracked: 5,
		}},
		Softirqs: []*corewaitv1.SoftirqSample{{
			FromUs: 7_000_000, ToUs: 12_000_000, Name: "NET_RX", Cpus: []uint32{1}, Counts: []int64{77}, MaxPerS: []int64{30},
		}},
		Cpu: []*corewaitv1.CPUSample{{
			FromUs: 7_000_000, ToUs: 12_000_000, Cpus: []uint32{3}, User: []int32{1}, System: []int32{2}, Iowait: []int32{3}, Irq: []int32{4}, Softirq: []int32{5},
			Steal: []int32{6}, Idle: []int32{9_979}, IrqSoftirqMax: []int32{10}, StealMax: []int32{11}, BusyMax: []int32{10_000}, Host: shares(),
		}},
		System: []*corewaitv1.SystemSample{{
			FromUs: 7_000_000, ToUs: 12_000_000, RunQueue: new(2.5), Blocked: new(0.25), RunQueueMax: new(uint32(9)), SwapInKibPerS: new(1.5), SwapOutKibPerS: new(0.0),
			InterruptsPerS: new(90_000.5), ContextSwitchesPerS: new(120_000.25), Shares: shares(),
			TimeSqueeze: new(uint64(8)), PsiCpuUs: new(uint64(100)), PsiIoUs: new(uint64(200)), PsiMemoryUs: new(uint64(300)),
		}},
		Disks: []*corewaitv1.DiskSample{{
			FromUs: 7_000_000, ToUs: 12_000_000, Device: "dm-0", ReadsPerS: new(1.25), WritesPerS: new(2.5), ReadAwaitMs: new(0.5), WriteAwaitMs: new(0.75),
			QueueSize: new(0.125), Utilisation: new(0.0625),
		}},
		Placement: []*corewaitv1.PlacementRun{{
			Command: "ora_lgwr_ORDP1", Pid: 4_711, Tid: 4_712, FirstUs: 7_050_000, AfterUs: []uint64{0, 50_010}, UncertaintyUs: 20, Cpu: []uint32{28, 29},
			State: []byte("SR"), FirstIntervalUs: 50_000, ExecUs: []int64{800, -1}, RunDelayUs: []int64{15, 0}, Voluntary: []int64{1, 2}, Involuntary: []int64{3, 4},
			Policy: []int32{0, 2},
		}},
		Topology: []*corewaitv1.Topology{{
			FromUs: 7_000_000, Cpus: []*corewaitv1.Topology_CPU{{Id: 1, Socket: new(uint32(0)), Core: new(uint32(1)), NumaNode: new(uint32(2)), Offline: true}},
			Ports:    []*corewaitv1.Topology_Port{{Name: "ens3f0", Driver: "mlx5_core", PciAddress: "0000:3b:00.0", NumaNode: new(uint32(3)), Irqs: []uint32{120}}},
			Bonds:    []*corewaitv1.Topology_Bond{{Name: "bond1", Mode: "fault-tolerance (active-backup)", ActiveSlave: "ens3f0", Slaves: []string{"ens3f0", "ens3f1"}}},
			Affinity: []*corewaitv1.Topology_Affinity{{Irq: 120, Cpus: []uint32{24}, Fixed: true}}, Interconnects: []string{"bond1"},
			CoresInferred: true, InterruptTimeAccounted: new(false), KernelRelease: "5.14.0-503.el9.x86_64",
		}},
		BondEvents: []*corewaitv1.BondEvent{{AtUs: 9_000_000, Bond: "bond1", FromSlave: "ens3f1", ToSlave: "ens3f0"}},
		Gaps: []*corewaitv1.Gap{{
			Source: "agent", Reason: "restart", FromUs: 1, ToUs: 2, FromUtcUs: 1_767_355_000_000_000, ToUtcUs: 1_767_355_100_000_000, Events: 6,
		}},
		Watched: []*corewaitv1.Watched{{FromUs: 7_000_000, Command: "ora_lgwr_ORDP1", Pid: 4_711, Instance: "ORDP1", StartTicks: 123_456, Ended: true}},
	}
}

// everyField gives the fields that are not set in a message or those within it.
func everyField(m protoreflect.Message, path string) (unset []string) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := path + "." + string(f.Name())
		switch {
		case !m.Has(f):
			unset = append(unset, name)
		case f.IsList() && f.Message() != nil:
			unset = append(unset, everyField(m.Get(f).List().Get(0).Message(), name)...)
		case f.Message() != nil:
			unset = append(unset, everyField(m.Get(f).Message(), name)...)
		}
	}
	return unset
}

// testdata/batch.bin was written when the contract was frozen. Whoever renumbers or
// retypes a field reads other values out of it.
func TestBytesOfTheFrozenContractStillMeanTheSame(t *testing.T) {
	t.Parallel()
	want := exampleBatch()
	if unset := everyField(want.ProtoReflect(), "batch"); unset != nil {
		t.Fatalf("the example has no value in %v", unset)
	}
	file := filepath.Join("testdata", "batch.bin")
	if *update {
		plain, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, plain, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := new(corewaitv1.Batch)
	if err := proto.Unmarshal(plain, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-example +testdata:\n%s", diff)
	}
}

func TestABatchComesOutOfItsBodyAsItWent(t *testing.T) {
	t.Parallel()
	want := exampleBatch()
	body, err := api.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	again, err := api.Marshal(want)
	if err != nil || string(again) != string(body) {
		t.Errorf("the bytes of a batch differ from one time to the next: %v", err)
	}
	got, err := decode(t, body, api.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-sent +received:\n%s", diff)
	}
}
