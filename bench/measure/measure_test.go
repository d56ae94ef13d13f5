package measure

import (
	"errors"
	"testing"
	"time"
)

func TestTheMedianOfAnEvenNumberLiesInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   Spread // by eye
	}{
		{[]float64{7}, Spread{7, 7, 7}},
		{[]float64{9, 1, 4}, Spread{1, 4, 9}},
		{[]float64{8, 2, 4, 6}, Spread{2, 5, 8}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("spread of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestRatiosAreOfTheSameRound(t *testing.T) {
	t.Parallel()
	slow := []Cost{{Wall: 20, CPU: 10}, {Wall: 90, CPU: 60}, {Wall: 12, CPU: 8}}
	quick := []Cost{{Wall: 5, CPU: 5}, {Wall: 9, CPU: 6}, {Wall: 4, CPU: 2}}
	// By hand: 10/5, 60/6, 8/2 and 20/5, 90/9, 12/4.
	if got, want := Ratios(slow, quick), (Spread{2, 4, 10}); got != want {
		t.Errorf("ratios of CPU time %v, want %v", got, want)
	}
	if got, want := WallRatios(slow, quick), (Spread{3, 4, 10}); got != want {
		t.Errorf("ratios of wall time %v, want %v", got, want)
	}
}

func TestSidesTakeTurnsAndTheFirstRoundIsNotCounted(t *testing.T) {
	t.Parallel()
	var order string
	side := func(name string) func() error {
		return func() error { order += name; return nil }
	}
	costs, err := Rounds(2, side("a"), side("b"))
	if err != nil {
		t.Fatal(err)
	}
	if order != "ababab" {
		t.Errorf("ran in the order %s, want ababab", order)
	}
	if len(costs) != 2 || len(costs[0]) != 2 || len(costs[1]) != 2 {
		t.Errorf("costs %v, want two of each side", costs)
	}
}

func TestARunThatFailsEndsTheMeasurement(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if _, err := Rounds(3, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if _, err := Rounds(0); err == nil {
		t.Error("no rounds gave no error")
	}
}

func TestWorkCostsCPUTime(t *testing.T) {
	t.Parallel()
	c, err := Once(func() error {
		for start := time.Now(); time.Since(start) < 30*time.Millisecond; {
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Wall < 30*time.Millisecond || c.CPU <= 0 {
		t.Errorf("30 ms of work cost %+v", c)
	}
}

func TestResidentMemoryIsReadFromTheStatus(t *testing.T) {
	t.Parallel()
	const status = "Name:\tbench\nVmHWM:\t   52344 kB\nVmRSS:\t   51200 kB\nThreads:\t4\n"
	for name, want := range map[string]int64{"VmHWM:": 52344, "VmRSS:": 51200} {
		if got, err := statusKiB([]byte(status), name); err != nil || got != want {
			t.Errorf("%s %d, %v, want %d", name, got, err, want)
		}
	}
	for _, bad := range []string{"", "VmRSS:\n", "VmRSS: 5 MB\n", "VmRSS: x kB\n"} {
		if got, err := statusKiB([]byte(bad), "VmRSS:"); err == nil {
			t.Errorf("%q gave %d, want an error", bad, got)
		}
	}
}

func TestThePeakIsAtLeastWhatIsResident(t *testing.T) {
	t.Parallel()
	r, err := ReadResident()
	if err != nil {
		t.Fatal(err)
	}
	if r.Now <= 0 || r.Peak < r.Now/2 {
		t.Errorf("resident %+v", r)
	}
}
