package refcase

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// rates gives, by CPU, the interrupts/s of lines whose description contains a
// text, between the first and the last snapshot, modulo 2^32.
func rates(snapshots []*domain.InterruptSnapshot, contains string) []float64 {
	first, last := snapshots[0], snapshots[len(snapshots)-1]
	perS := make([]float64, len(first.CPUs))
	for i, l := range last.Lines {
		if !strings.Contains(l.Description, contains) {
			continue
		}
		for cpu := range l.Counts {
			rise := (l.Counts[cpu] - first.Lines[i].Counts[cpu]) & math.MaxUint32
			perS[cpu] += float64(rise) / last.At.Sub(first.At).Seconds()
		}
	}
	return perS
}

func TestCountersWrapWithinTheWindowAndKeepTheirRate(t *testing.T) {
	t.Parallel()
	s := small()
	s.Records.NearWrap = true
	r, _ := record(t, s)
	wrapped := map[int]bool{}
	for i := 1; i < len(r.interrupts); i++ {
		for j, l := range r.interrupts[i].Lines {
			for cpu, n := range l.Counts {
				if n > math.MaxUint32 {
					t.Fatalf("%s counts to %d, want 32 bits", l.ID, n)
				}
				if n < r.interrupts[i-1].Lines[j].Counts[cpu] {
					wrapped[cpu] = true
				}
			}
		}
	}
	if len(wrapped) != 8 {
		t.Errorf("counters of %d CPUs wrapped, want those of the 8 queues", len(wrapped))
	}
	for cpu, perS := range rates(r.interrupts, "ens3f0") {
		want := 0.0
		if cpu%8 >= 4 {
			want = 2000
		}
		if math.Abs(perS-want) > 40 { // two percent: the traffic's mean is 1 over the whole window
			t.Errorf("CPU %d: %.0f/s, want %.0f", cpu, perS, want)
		}
	}
}

func TestPollingQueuesInterruptSeldomWhileSoftirqTimeIsHigh(t *testing.T) {
	t.Parallel()
	s := small()
	s.Interconnect.Polling, s.Load.Wander = true, 0.4
	r, truth := record(t, s)
	if want := []int{4, 5, 6, 7, 12, 13, 14, 15}; !slices.Equal(truth.HeavyCPUs, want) {
		t.Errorf("heavy CPUs %v, want %v by time", truth.HeavyCPUs, want)
	}
	for cpu, perS := range rates(r.interrupts, "ens3f0") {
		if perS > 1000 {
			t.Errorf("CPU %d: %.0f interrupts/s, want under 1,000", cpu, perS)
		}
	}
	for _, c := range r.cpus {
		if c.CPU%8 >= 4 && c.SoftIRQ < 0.04 {
			t.Errorf("CPU %d: softirq share %.2f at %s, want a tenth and more on average", c.CPU, c.SoftIRQ, c.At)
		}
	}
	// More traffic, fewer interrupts: the first is told by softirq time.
	w := newWorld(&s)
	if x := correlation(w.traffic, inverse(w.traffic)); x > -0.7 {
		t.Errorf("rate and traffic correlate by %.2f, want clearly below 0", x)
	}
}

func TestHotQueuesCarryMostOfTheTraffic(t *testing.T) {
	t.Parallel()
	s := small()
	s.Interconnect = Interconnect{Socket: 1, HotQueues: 2, LowPerS: 100, HighPerS: 900}
	r, truth := record(t, s)
	perS := slices.Sorted(slices.Values(rates(r.interrupts, "ens3f0")))
	sum := 0.0
	for _, x := range perS {
		sum += x
	}
	if top := perS[14] + perS[15]; top < 0.7*sum || perS[13] > 1000 {
		t.Errorf("two queues carry %.0f of %.0f/s, the next %.0f", top, sum, perS[13])
	}
	if len(truth.HeavyCPUs) != 2 {
		t.Errorf("heavy CPUs %v, want two", truth.HeavyCPUs)
	}
}

func TestDiskInterruptsFollowLGWR(t *testing.T) {
	t.Parallel()
	s := small()
	s.LGWR.WritesPerS, s.LGWR.Dwell = 5000, 20*time.Second
	r, _ := record(t, s)
	w := newWorld(&s)
	// In each 10 s, the CPU with the most disk interrupts is one that LGWR was on.
	right, n := 0, 0
	for i := 1; i < len(r.interrupts); i++ {
		perS := rates(r.interrupts[i-1:i+1], "nvme0q")
		busiest := 0
		for cpu := range perS {
			if perS[cpu] > perS[busiest] {
				busiest = cpu
			}
		}
		from, to := r.interrupts[i-1].At.Sub(s.Start).Seconds(), r.interrupts[i].At.Sub(s.Start).Seconds()
		th := w.instances[0].threads[0]
		for j, v := range th.visits {
			if v.cpu == busiest && v.at < to && th.end(j, w.length) > from {
				right++
				break
			}
		}
		n++
		if perS[busiest] < 1000 {
			t.Errorf("busiest CPU %d has %.0f disk interrupts/s, want over 1,000", busiest, perS[busiest])
		}
	}
	if right != n {
		t.Errorf("in %d of %d intervals the busiest CPU was LGWR's, want all", right, n)
	}
}

func TestGapsLeaveMinutesOut(t *testing.T) {
	t.Parallel()
	s := small()
	s.Hours, s.Records.InterruptGaps, s.Records.PlacementGaps = 1, 2, 2
	r, _ := record(t, s)
	longest := func(times []time.Time) (gap time.Duration, over int) {
		for i := 1; i < len(times); i++ {
			d := times[i].Sub(times[i-1])
			gap = max(gap, d)
			if d >= time.Minute {
				over++
			}
		}
		return gap, over
	}
	interrupts, placements := make([]time.Time, 0, len(r.interrupts)), make([]time.Time, 0, len(r.placements))
	for _, x := range r.interrupts {
		interrupts = append(interrupts, x.At)
	}
	for _, x := range r.placements {
		placements = append(placements, x.At)
	}
	for name, times := range map[string][]time.Time{"interrupts": interrupts, "placements": placements} {
		if gap, n := longest(times); n < 1 || n > 2 || gap > 9*time.Minute {
			t.Errorf("%s: %d gaps of a minute and more, the longest %s; want one or two of up to four minutes each", name, n, gap)
		}
	}
}

func TestTruncatedBlocksAreCutInTheFileAndRightAfterwards(t *testing.T) {
	t.Parallel()
	s := small()
	s.Records.TruncatedBlocks = 5
	dir, _ := writeFiles(t, s)
	times, text := blocks(t, dir)
	if len(times) != 91 { // a quarter of an hour every 10 s, both ends
		t.Fatalf("%d blocks, want 91", len(times))
	}
	cut := 0
	for i, block := range text {
		if !strings.HasPrefix(block[len(block)-1], " MIS:") {
			cut++
			if i == 0 {
				t.Error("the first block is cut")
			}
		}
	}
	if cut < 3 || cut > 5 {
		t.Errorf("%d blocks are cut, want five unless two fell together", cut)
	}
}

// The layout is that of kernel/irq/proc.c with room for thousands of
// interrupts: numbers and names in four columns, counts in ten and a blank.
func TestInterruptLinesAreWrittenAsTheKernelPrintsThem(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		line domain.InterruptLine
		want string
	}{
		{
			"a queue of a network port",
			domain.InterruptLine{ID: "120", Description: describe(1572864, "ens3f0-TxRx-0"), Counts: []uint64{0, 4294967295}},
			" 120:          0 4294967295  IR-PCI-MSI 1572864-edge      ens3f0-TxRx-0",
		},
		{
			"a line of the kernel",
			domain.InterruptLine{ID: "LOC", Description: "Local timer interrupts", Class: domain.ClassKernel, Counts: []uint64{17, 5}},
			" LOC:         17          5   Local timer interrupts",
		},
		{
			"a line with one value",
			domain.InterruptLine{ID: "MIS", Class: domain.ClassKernel, Single: 3},
			" MIS:          3",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(appendLine(nil, &c.line)); got != c.want+"\n" {
				t.Errorf("got  %q\nwant %q", got, c.want+"\n")
			}
		})
	}
}

func TestInterruptLogHasATimeLineAndAHeadingPerBlock(t *testing.T) {
	t.Parallel()
	dir, _ := writeFiles(t, small())
	_, text := blocks(t, dir)
	want := "            CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7       " +
		"CPU8       CPU9       CPU10      CPU11      CPU12      CPU13      CPU14      CPU15      "
	for _, block := range text {
		if block[0] != want {
			t.Fatalf("heading %q, want %q", block[0], want)
		}
		if last := block[len(block)-1]; last != " MIS:          0" {
			t.Fatalf("last line %q", last)
		}
	}
	lines := lines(t, dir, fileInterrupts)
	if at, err := time.Parse("2006-01-02T15:04:05.000-07:00", lines[0]); err != nil || at.Format("-07:00") != "+09:00" {
		t.Errorf("time line %q: %v", lines[0], err)
	}
}
