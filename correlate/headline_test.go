package correlate

import (
	"strings"
	"testing"

	"github.com/corewait/corewait/domain"
)

func TestCPUList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ids  []int
		want string
	}{
		{nil, ""},
		{[]int{7}, "7"},
		{[]int{0, 1, 2, 3, 8, 10, 11}, "0-3,8,10-11"},
		{[]int{24, 25, 26, 27, 28, 29, 30, 31, 56, 57, 58, 59, 60, 61, 62, 63}, "24-31,56-63"},
		{[]int{1, 3, 5}, "1,3,5"},
	} {
		if got := CPUList(tt.ids); got != tt.want {
			t.Errorf("CPUList(%v) = %q, want %q", tt.ids, got, tt.want)
		}
	}
}

func TestJoinAnd(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := joinAnd(list); got != want {
			t.Errorf("joinAnd(%v) = %q, want %q", list, got, want)
		}
	}
}

// told is a finding as far as its headline is concerned.
func told(verdict string) *domain.Finding {
	number := func(v float64) *float64 { return &v }
	bond := "bond1"
	return &domain.Finding{
		Verdict: verdict, Watch: "lgwr",
		Waits:       &domain.WaitSummary{Event: domain.EventLogFileSync, ThresholdMS: 100, Stalls: 89},
		Coincidence: &domain.Coincidence{StallsExposed: 76, StallsUnexposed: 13, ExpectedExposed: number(31)},
		Interrupts: &domain.Interrupts{
			HeavyCPUs: []int{4, 5}, Heavy: []domain.HeavyCPU{{CPU: 4, PerS: number(4000)}, {CPU: 5, PerS: number(3000)}},
			ByDevice: []domain.DeviceRate{
				{Device: "ens3f0", Class: "network", Bond: &bond, CPUs: []int{4}, PerS: 4000},
				{Device: "ens4f0", Class: "network", CPUs: []int{5, 6}, PerS: 2300},
				{Device: "ens5f0", Class: "network", CPUs: []int{5}, PerS: 699},          // under a tenth of 7000
				{Device: "ens6f0", Class: "network", CPUs: []int{0, 1, 2, 5}, PerS: 900}, // mostly elsewhere
				{Device: "nvme0", Class: "storage", CPUs: []int{4, 5}, PerS: 7000},
			},
		},
		Causes: []domain.Cause{
			{Cause: domain.CauseStorage, Verdict: domain.Supported, Evidence: []string{"device await over 5 ms around 70 of 89 stalls", "more"}},
			{Cause: domain.CauseRACAck, Verdict: domain.NotObservable, Evidence: []string{"needs a counter"}},
		},
	}
}

func TestHeadlines(t *testing.T) {
	t.Parallel()
	mixed := told(domain.Undetermined)
	mixed.Mixed = []string{domain.CauseInterrupts, domain.CauseStorage}
	nothing := told(domain.Undetermined)
	nothing.Coincidence = nil
	unnamed := told(domain.CauseInterrupts)
	unnamed.Interrupts.ByDevice = nil
	unnamed.Coincidence.ExpectedExposed = nil
	tests := []struct {
		name string
		f    *domain.Finding
		want string
	}{
		{
			"interrupts", told(domain.CauseInterrupts),
			"76 of 89 commit stalls over 100 ms happened while LGWR ran on CPUs 4-5, which serve ens3f0 (bond1) and ens4f0; 31 expected at that load.",
		},
		{
			"interrupts of devices that are not known", unnamed,
			"76 of 89 commit stalls over 100 ms happened while LGWR ran on CPUs 4-5, which serve most of the device interrupts.",
		},
		{
			"another cause, with its first evidence", told(domain.CauseStorage),
			"89 commit stalls over 100 ms: the cause that the data supports is storage: device await over 5 ms around 70 of 89 stalls.",
		},
		{
			"several causes", mixed,
			"89 commit stalls over 100 ms have no single cause; the data supports interrupt-collision and storage, each for a part.",
		},
		{
			"no cause", told(domain.Undetermined),
			"The data supports no cause for the 89 commit stalls over 100 ms: 76 of 89 fell on heavy CPUs, 31 expected at that load.",
		},
		{"no cause and no test", nothing, "The data supports no cause for the 89 commit stalls over 100 ms."},
		{"too little", told(domain.InsufficientData), "Not enough data for a verdict: this and that."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := headline(tt.f, "this and that"); got != tt.want {
				t.Errorf("headline = %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestNextStepsFollowTheVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		verdict, want string
		asks          bool // for what would make other causes observable
	}{
		{domain.CauseInterrupts, "effective_affinity_list", false},
		{domain.CauseStorage, "storage team", true},
		{domain.CauseCPUSaturation, "connection or process burst", true},
		{domain.CauseCPUSteal, "hypervisor", true},
		{domain.CauseSwapping, "huge pages", true},
		{domain.Undetermined, "corewait collect", true},
		{domain.InsufficientData, "corewait collect", true},
	}
	for _, tt := range tests {
		t.Run(tt.verdict, func(t *testing.T) {
			t.Parallel()
			text := strings.Join(nextSteps(told(tt.verdict)), "\n")
			if !strings.Contains(text, tt.want) {
				t.Errorf("next steps %q lack %q", text, tt.want)
			}
			if asks := strings.Contains(text, "To judge rac-acknowledgement: a counter."); asks != tt.asks {
				t.Errorf("next steps ask for missing data: %t, want %t", asks, tt.asks)
			}
		})
	}
}
