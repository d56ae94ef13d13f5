package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// fast runs a test on a database with a clock that goes as fast as the database
// answers. Cron sees that clock too. It begins at midnight of 2000-01-01 in UTC
// (package testing/synctest). Leases are by the clock of the database, where next
// to no time passes.
func fast(t *testing.T, test func(t *testing.T, s *store.Store, address string)) {
	t.Helper()
	address := testdb.New(t)
	synctest.Test(t, func(t *testing.T) { test(t, openStore(t, address), address) })
}

// seldom are options with few round trips.
func seldom() Options { return Options{Renew: 10 * time.Second, Poll: 30 * time.Second} }

// stamps lists the ticks of the minutes in (0, minutes] that hold a condition.
func stamps(minutes int, holds func(minute int) bool) []string {
	var list []string
	for m := 1; m <= minutes; m++ {
		if holds(m) {
			list = append(list, stamp(time.Date(2000, 1, 1, 0, m, 0, 0, time.UTC)))
		}
	}
	return list
}

func each(int) bool { return true }

func TestTwoProcessesRunEachTickOnce(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"clocks agree": 0, "a clock is ahead": 700 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d diary
			fast(t, func(t *testing.T, s *store.Store, address string) {
				list := []Job{d.job("minutely", "* * * * *"), d.job("thrice", "7,27,47 * * * *")}
				start(t, s, "one", seldom(), list...)
				o := seldom()
				o.Now = func() time.Time { return time.Now().Add(ahead) }
				start(t, openStore(t, address), "two", o, list...)
				time.Sleep(time.Hour + 30*time.Second)
				if lines := recorded(t, s, "minutely"); len(lines) != 60 {
					t.Errorf("%d runs are recorded: %v", len(lines), lines)
				}
			})
			if diff := cmp.Diff(stamps(60, each), d.of("minutely")); diff != "" {
				t.Errorf("minutely: want -, got +:\n%s", diff)
			}
			if diff := cmp.Diff(stamps(60, func(m int) bool { return m == 7 || m == 27 || m == 47 }), d.of("thrice")); diff != "" {
				t.Errorf("thrice: want -, got +:\n%s", diff)
			}
		})
	}
}

func TestAJobThatFailsOrPanicsStopsNoOther(t *testing.T) {
	t.Parallel()
	var d diary
	odd := func(name string, run func() error) Job {
		return Job{Name: name, Schedule: "* * * * *", Deadline: time.Minute, Run: func(_ context.Context, tick time.Time) (string, error) {
			d.note(name, tick)
			return "half done", run()
		}}
	}
	fast(t, func(t *testing.T, s *store.Store, _ string) {
		start(t, s, "one", seldom(),
			odd("panics", func() error { panic("no such index") }),
			odd("exits", func() error { runtime.Goexit(); return nil }),
			odd("fails", func() error { return errors.New("disk full") }),
			odd("nil", func() error { panic(nil) }), //nolint:govet // what it tests
			d.job("fine", "* * * * *"))
		time.Sleep(3*time.Minute + time.Second)
		for job, result := range map[string]string{
			"panics": "failed panic: no such index",
			"exits":  "failed it ended its goroutine",
			"fails":  "failed disk full",
			"nil":    "failed panic: " + new(runtime.PanicNilError).Error(),
			"fine":   "done noted",
		} {
			want := []string{"01 00:01:00 one " + result, "01 00:02:00 one " + result, "01 00:03:00 one " + result}
			if diff := cmp.Diff(want, recorded(t, s, job)); diff != "" {
				t.Errorf("%s: want -, got +:\n%s", job, diff)
			}
			if diff := cmp.Diff(stamps(3, each), d.of(job)); diff != "" {
				t.Errorf("%s ran: want -, got +:\n%s", job, diff)
			}
		}
	})
}

func TestADeadlineEndsARun(t *testing.T) {
	t.Parallel()
	fast(t, func(t *testing.T, s *store.Store, _ string) {
		b := newBlocked()
		slow := b.job("slow", "* * * * *")
		slow.Deadline = 10 * time.Second
		start(t, s, "one", seldom(), slow)
		time.Sleep(time.Minute + 11*time.Second)
		want := []string{"01 00:01:00 one failed deadline of 10s exceeded: context deadline exceeded"}
		if diff := cmp.Diff(want, recorded(t, s, "slow")); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	})
}

// TestATickDuringARunIsSkipped: a run takes two and a half minutes, the ticks at
// two and three minutes meet it, in its own process or the other.
func TestATickDuringARunIsSkipped(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			t.Parallel()
			var d diary
			long := Job{Name: "long", Schedule: "* * * * *", Deadline: time.Hour, Run: func(_ context.Context, tick time.Time) (string, error) {
				d.note("long", tick)
				time.Sleep(150 * time.Second)
				return "", nil
			}}
			fast(t, func(t *testing.T, s *store.Store, address string) {
				for i := range processes {
					start(t, openStore(t, address), fmt.Sprint("process ", i), seldom(), long)
				}
				time.Sleep(6*time.Minute + time.Second)
				lines := recorded(t, s, "long")
				if len(lines) != 6 {
					t.Fatalf("%d runs: %v", len(lines), lines)
				}
				for i, want := range []string{"done", "skipped an earlier run is still under way in", "skipped an earlier run is still under way in", "under way", "skipped", "skipped"} {
					if !strings.Contains(lines[i], want) {
						t.Errorf("run %d: %s, want %s", i+1, lines[i], want)
					}
				}
			})
			if diff := cmp.Diff(stamps(6, func(m int) bool { return m == 1 || m == 4 }), d.of("long")); diff != "" {
				t.Errorf("ran: want -, got +:\n%s", diff)
			}
		})
	}
}

func TestSchedulesChangeWhileJobsRun(t *testing.T) {
	t.Parallel()
	var d diary
	fast(t, func(t *testing.T, s *store.Store, _ string) {
		b := newBlocked()
		r := start(t, s, "one", seldom(), d.job("changed", "* * * * *"), d.job("kept", "* * * * *"), d.job("removed", "* * * * *"), b.job("running", "* * * * *"))
		time.Sleep(2*time.Minute + 10*time.Second)

		wrong := d.job("wrong", "@every 1m")
		if err := r.Reschedule([]Job{d.job("kept", yearly), wrong}); err == nil || !strings.Contains(err.Error(), "@every 1m") {
			t.Errorf("a wrong schedule: %v", err)
		}
		kept := d.job("kept", "* * * * *")
		kept.Run = func(_ context.Context, tick time.Time) (string, error) { d.note("kept anew", tick); return "", nil }
		if err := r.Reschedule([]Job{d.job("changed", "*/2 * * * *"), kept, d.job("added", "* * * * *")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute) // to 5:10
		if err := r.Reschedule([]Job{d.job("changed", "*/2 * * * *"), d.job("removed", "* * * * *"), b.job("running", "* * * * *")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // to 6:10
		for job, want := range map[string][]string{
			"changed":   stamps(6, func(m int) bool { return m <= 2 || m == 4 || m == 6 }), // at 2:00 the old schedule
			"kept":      stamps(2, each),
			"kept anew": stamps(5, func(m int) bool { return m > 2 }),
			"removed":   stamps(6, func(m int) bool { return m <= 2 || m == 6 }),
			"added":     stamps(5, func(m int) bool { return m > 2 }),
		} {
			if diff := cmp.Diff(want, d.of(job)); diff != "" {
				t.Errorf("%s: want -, got +:\n%s", job, diff)
			}
		}
		// The run that was under way when its job was removed is so still, and no second
		// one was begun beside it when the job came back.
		if len(b.begun) != 1 || len(b.cause) != 0 {
			t.Errorf("%d runs began, %d ended", len(b.begun), len(b.cause))
		}
		close(b.letGo)
		time.Sleep(time.Second)
		if lines := recorded(t, s, "running"); lines[0] != "01 00:01:00 one done let go" {
			t.Errorf("runs %v", lines)
		}
	})
}

// TestANewScheduleDoesNotReachBack: at 0:10:10 a job that ran at 0:00 gets a
// schedule by which it was due at 0:05.
func TestANewScheduleDoesNotReachBack(t *testing.T) {
	t.Parallel()
	var d diary
	fast(t, func(t *testing.T, s *store.Store, _ string) {
		did(t, s, "moved", time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		r := start(t, s, "one", seldom(), d.job("moved", "0 * * * *"))
		time.Sleep(10*time.Minute + 10*time.Second)
		if err := r.Reschedule([]Job{d.job("moved", "5 * * * *")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		if lag := r.Status()[0].Lag; lag != 0 {
			t.Errorf("lag %v", lag)
		}
		time.Sleep(30 * time.Minute)
	})
	if diff := cmp.Diff([]string{"01 01:05:00"}, d.of("moved")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestMissedTicksAreMadeGoodOnce: nobody was there at 20 hourly ticks. Two
// processes that start run the last of them once, and nothing of a job that never
// ran.
func TestMissedTicksAreMadeGoodOnce(t *testing.T) {
	t.Parallel()
	var d diary
	fast(t, func(t *testing.T, s *store.Store, address string) {
		did(t, s, "hourly", time.Date(1999, 12, 31, 3, 0, 0, 0, time.UTC))
		time.Sleep(30 * time.Minute)
		for i := range 2 {
			start(t, openStore(t, address), fmt.Sprint("process ", i), seldom(), d.job("hourly", "0 * * * *"), d.job("new", "0 * * * *"))
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"01 00:00:00"}, d.of("hourly")); diff != "" {
			t.Errorf("hourly: want -, got +:\n%s", diff)
		}
		if got := d.of("new"); got != nil {
			t.Errorf("new: %v", got)
		}
	})
}

// TestADatabaseThatIsAwayAtATick: at 0:02 and 0:03 it is; at 0:03:20 it is back,
// and the tick of 0:03 is made good.
func TestADatabaseThatIsAwayAtATick(t *testing.T) {
	t.Parallel()
	var d diary
	fast(t, func(t *testing.T, s *store.Store, _ string) {
		line := &network{Store: s}
		start(t, line, "one", Options{}, d.job("minutely", "* * * * *"))
		time.Sleep(90 * time.Second)
		line.cut()
		time.Sleep(110 * time.Second)
		line.mend()
		time.Sleep(70 * time.Second) // to 0:04:30
	})
	if diff := cmp.Diff(stamps(4, func(m int) bool { return m != 2 }), d.of("minutely")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestADatabaseThatIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	var d diary
	fast(t, func(t *testing.T, s *store.Store, _ string) {
		line := &network{Store: s}
		line.cut()
		did(t, s, "hourly", time.Date(1999, 12, 31, 3, 0, 0, 0, time.UTC))
		start(t, line, "one", Options{}, d.job("hourly", "0 * * * *"))
		time.Sleep(5 * time.Minute)
		line.mend()
		time.Sleep(11 * time.Second)
	})
	if diff := cmp.Diff([]string{"01 00:00:00"}, d.of("hourly")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestAResultThatCannotBeRecordedIsRecordedLater: and the tick is not run again
// meanwhile.
func TestAResultThatCannotBeRecordedIsRecordedLater(t *testing.T) {
	t.Parallel()
	var d diary
	fast(t, func(t *testing.T, s *store.Store, _ string) {
		line := &network{Store: s}
		line.fail(func(call string) error {
			if call == "FinishTick" {
				return errCut
			}
			return nil
		}, nil)
		start(t, line, "one", Options{}, d.job("hourly", "1 * * * *"))
		time.Sleep(10 * time.Minute)
		if lines := recorded(t, s, "hourly"); len(lines) != 1 || lines[0] != "01 00:01:00 one under way" {
			t.Errorf("before: %v", lines)
		}
		line.mend()
		time.Sleep(6 * time.Second)
		if lines := recorded(t, s, "hourly"); len(lines) != 1 || lines[0] != "01 00:01:00 one done noted" {
			t.Errorf("after: %v", lines)
		}
	})
	if diff := cmp.Diff(stamps(1, each), d.of("hourly")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestAnAnswerThatIsLostLosesNoTick: the database did what it was asked, and the
// process does not know.
func TestAnAnswerThatIsLostLosesNoTick(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"ClaimTick", "AcquireLease", "FinishTick", "TakeOverTick"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			var d diary
			fast(t, func(t *testing.T, s *store.Store, _ string) {
				if lost == "TakeOverTick" {
					if _, err := s.ClaimTick(t.Context(), "hourly", time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC), "gone"); err != nil {
						t.Fatal(err)
					}
				}
				line := &network{Store: s}
				var times atomic.Int32
				line.fail(nil, func(call string) error {
					// The first lease that is acquired is the process's own, the next the job's.
					if call == lost && times.Add(1) <= 2 {
						return errCut
					}
					return nil
				})
				start(t, line, "one", Options{}, d.job("hourly", "1 * * * *"))
				time.Sleep(10 * time.Minute)
				if lines := recorded(t, s, "hourly"); len(lines) != 1 || !strings.HasSuffix(lines[0], "one done noted") {
					t.Errorf("%v", lines)
				}
				if times.Load() == 0 {
					t.Error("no answer was lost, so this shows nothing")
				}
			})
			if diff := cmp.Diff(stamps(1, each), d.of("hourly")); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}
