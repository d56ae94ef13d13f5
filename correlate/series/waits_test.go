package series

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// row is an ASH row of a foreground session; V$ samples once a second.
func row(sec float64, session int, event string, ms float64) domain.Wait {
	return domain.Wait{
		At: clock(sec), SampleID: int64(1000 + sec), InstID: 1, SessionID: session, Serial: 5, Waiting: true, Event: event,
		TimeWaited: time.Duration(ms * float64(time.Millisecond)), Period: time.Second,
	}
}

func sync(sec float64, session int, ms float64) domain.Wait {
	return row(sec, session, domain.EventLogFileSync, ms)
}

func unread(sec float64, session int) domain.Wait {
	w := sync(sec, session, 0)
	w.TimeWaited = -1 // a nanosecond, which is no microsecond
	return w
}

func waitSeries(t *testing.T, c Choice, rows ...domain.Wait) *Series {
	t.Helper()
	b := newTestBuilder()
	for _, r := range rows {
		must(t, b.Wait(r))
	}
	return b.Build(c)
}

// brief writes waits as second/session/milliseconds.
func brief(waits []Wait) []string {
	var out []string
	for _, w := range waits {
		out = append(out, fmt.Sprintf("%g/%d/%g", float64(w.At-instant(0))/1e6, w.Session, float64(w.TimeWaited)/1e3))
	}
	return out
}

func TestAWaitIsKeptOnceWithItsGreatestTime(t *testing.T) {
	t.Parallel()
	other := sync(1, 10, 300)
	other.Serial = 6 // the next session under the same number
	second := sync(1, 10, 7)
	second.InstID = 2
	noID, noIDFixed := sync(1, 10, 0), sync(1, 10, 55)
	noID.SampleID, noIDFixed.SampleID = -1, -1
	tests := []struct {
		name string
		rows []domain.Wait
		want []string
	}{
		{"the row that is fixed up later wins", []domain.Wait{sync(1, 10, 0), sync(1, 10, 120)}, []string{"1/10/120"}},
		{"the row that was fixed up before wins as well", []domain.Wait{sync(1, 10, 120), sync(1, 10, 0)}, []string{"1/10/120"}},
		{"the same wait in two files counts once", []domain.Wait{sync(1, 10, 120), sync(2, 10, 130), sync(1, 10, 120), sync(2, 10, 130)}, []string{"1/10/120", "2/10/130"}},
		{"a length that could not be read is not 0", []domain.Wait{unread(1, 10)}, []string{"1/10/-0.001"}},
		{"it wins over a row not fixed up", []domain.Wait{unread(1, 10), sync(1, 10, 0)}, []string{"1/10/-0.001"}},
		{"a length that was read wins over it", []domain.Wait{sync(1, 10, 3), unread(1, 10)}, []string{"1/10/3"}},
		{"rows without SESSION_ID are a wait each", []domain.Wait{sync(1, -1, 120), sync(1, -1, 120), sync(1, -1, 7)}, []string{"1/-1/7", "1/-1/120", "1/-1/120"}},
		{"sessions are told apart", []domain.Wait{sync(1, 11, 120), sync(1, 10, 130)}, []string{"1/10/130", "1/11/120"}},
		{"sessions that reuse a number are told apart", []domain.Wait{sync(1, 10, 120), other}, []string{"1/10/120", "1/10/300"}},
		{"instances are told apart", []domain.Wait{sync(1, 10, 120), second}, []string{"1/10/7", "1/10/120"}},
		{"without SAMPLE_ID the time tells", []domain.Wait{noID, noIDFixed}, []string{"1/10/55"}},
		{"waits ascend by time whatever their order in files", []domain.Wait{sync(9, 10, 1), sync(3, 10, 2), sync(5, 10, 3)}, []string{"3/10/2", "5/10/3", "9/10/1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := brief(waitSeries(t, anyInstance, tt.rows...).Waits); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRowsThatAreNoWaitOfAForeground(t *testing.T) {
	t.Parallel()
	onCPU := sync(1, 10, 500)
	onCPU.Event = ""
	notWaiting := sync(2, 10, 500)
	notWaiting.Waiting = false
	background := sync(3, 10, 500)
	background.Background = true
	untimed := sync(4, 10, 500)
	untimed.At = time.Time{}
	s := waitSeries(t, anyInstance, onCPU, notWaiting, background, untimed)
	if len(s.Waits) != 0 {
		t.Errorf("got %v, want none", brief(s.Waits))
	}
	// Samples were taken all the same, and their ids are known.
	want := []Tick{{1001, instant(1)}, {1002, instant(2)}, {1003, instant(3)}}
	if !slices.Equal(s.Ticks, want) {
		t.Errorf("ticks: got %v, want %v", s.Ticks, want)
	}
}

func TestTicksAreSamplesSeenOnce(t *testing.T) {
	t.Parallel()
	noID := func(sec float64) domain.Wait {
		w := sync(sec, 10, 1)
		w.SampleID = -1
		return w
	}
	tests := []struct {
		name string
		rows []domain.Wait
		want []Tick
	}{
		{"sessions of one sample are one tick", []domain.Wait{sync(1, 10, 1), sync(1, 11, 1), row(1, 12, "db file sequential read", 1), sync(2, 10, 1)}, []Tick{{1001, instant(1)}, {1002, instant(2)}}},
		{"a sample whose id is not printed has an unknown one", []domain.Wait{noID(2), noID(1), noID(2)}, []Tick{{-1, instant(1)}, {-1, instant(2)}}},
		{"the file that prints the id tells it", []domain.Wait{noID(1), sync(1, 10, 1)}, []Tick{{1001, instant(1)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := waitSeries(t, anyInstance, tt.rows...).Ticks; !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Waits of other events are kept from 50 ms on (as a placebo), and whatever
// their length where they speak for a rival.
func TestOtherEventsAreKeptWhenLongOrARivals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rows []domain.Wait
		want []string
	}{
		{"49 ms are dropped, 50 ms kept", []domain.Wait{row(1, 10, "db file sequential read", 49.999), row(2, 10, "db file sequential read", 50)}, []string{"2/10/50"}},
		{"a rival's wait is kept whatever its length", []domain.Wait{
			row(1, 10, "log file switch completion", 0.5), row(2, 10, "log file switch (checkpoint incomplete)", 1), row(3, 10, "SYNC Remote Write", 2),
			row(4, 10, "ASYNC Remote Write", 1), row(5, 10, "LNS wait on SENDREQ", 1), row(6, 10, "wait for scn ack", 1), row(7, 10, "enq: TX - row lock contention", 1),
		}, []string{"1/10/0.5", "2/10/1", "3/10/2", "4/10/1", "5/10/1", "6/10/1"}},
		{"the same wait in two files counts once", []domain.Wait{row(1, 10, "db file sequential read", 80), row(1, 10, "db file sequential read", 80)}, []string{"1/10/80"}},
		{"the row that is fixed up later wins", []domain.Wait{row(1, 10, "wait for scn ack", 0), row(1, 10, "wait for scn ack", 80)}, []string{"1/10/80"}},
		{"the row that was fixed up before wins as well", []domain.Wait{row(1, 10, "wait for scn ack", 80), row(1, 10, "wait for scn ack", 0)}, []string{"1/10/80"}},
		{"sessions are told apart", []domain.Wait{row(1, 11, "wait for scn ack", 80), row(1, 10, "wait for scn ack", 80)}, []string{"1/10/80", "1/11/80"}},
		{"events are told apart", []domain.Wait{row(1, 10, "wait for scn ack", 80), row(1, 10, "SYNC Remote Write", 80)}, []string{"1/10/80", "1/10/80"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := waitSeries(t, anyInstance, tt.rows...)
			if got := brief(s.OtherWaits); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if len(s.Waits) != 0 {
				t.Errorf("watched waits: got %v, want none", brief(s.Waits))
			}
		})
	}
}

func TestTheWatchedProcessesOwnWaitIsKeptApart(t *testing.T) {
	t.Parallel()
	write := row(1, 3, domain.EventLogFileParallelWrite, 2)
	write.Background = true
	s := waitSeries(t, anyInstance, write, sync(1, 10, 100))
	if got := brief(s.OwnWaits); !slices.Equal(got, []string{"1/3/2"}) {
		t.Errorf("own waits: got %v", got)
	}
	if !s.OwnWaits[0].Background {
		t.Error("the own wait is not marked as one of a background process")
	}
	if got := brief(s.Waits); !slices.Equal(got, []string{"1/10/100"}) {
		t.Errorf("waits: got %v", got)
	}
}

func TestWaitsOfOtherInstancesAreThePartners(t *testing.T) {
	t.Parallel()
	of := func(inst int, w domain.Wait) domain.Wait {
		w.InstID = inst
		return w
	}
	rows := []domain.Wait{
		of(1, sync(1, 10, 100)), of(2, sync(2, 20, 200)), of(-1, sync(3, 30, 300)),
		of(2, row(4, 3, domain.EventLogFileParallelWrite, 4)), of(2, row(5, 21, "wait for scn ack", 5)),
	}
	tests := []struct {
		name                 string
		inst                 int
		waits, partner, rest []string
		ticks                int
	}{
		{"one instance and what is of unknown instance", 1, []string{"1/10/100", "3/30/300"}, []string{"2/20/200"}, nil, 2},
		{"the other instance", 2, []string{"2/20/200", "3/30/300"}, []string{"1/10/100"}, []string{"5/21/5"}, 4},
		{"all belong to it", AnyInstID, []string{"1/10/100", "2/20/200", "3/30/300"}, nil, []string{"5/21/5"}, 5},
		{"none belong to it", NoInstID, nil, []string{"1/10/100", "2/20/200", "3/30/300"}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := waitSeries(t, Choice{InstID: tt.inst}, rows...)
			if got := brief(s.Waits); !slices.Equal(got, tt.waits) {
				t.Errorf("waits: got %v, want %v", got, tt.waits)
			}
			if got := brief(s.Partner); !slices.Equal(got, tt.partner) {
				t.Errorf("partner: got %v, want %v", got, tt.partner)
			}
			if got := brief(s.OtherWaits); !slices.Equal(got, tt.rest) {
				t.Errorf("other waits: got %v, want %v", got, tt.rest)
			}
			if len(s.Ticks) != tt.ticks {
				t.Errorf("got %d ticks, want %d", len(s.Ticks), tt.ticks)
			}
		})
	}
}

func TestFilteredAndHistory(t *testing.T) {
	t.Parallel()
	history := func(w domain.Wait) domain.Wait {
		w.Period = 10 * time.Second
		return w
	}
	unknown := sync(3, 10, 100)
	unknown.Period = 0
	tests := []struct {
		name              string
		rows              []domain.Wait
		filtered, history bool
	}{
		{"only waits of 50 ms and more: filtered", []domain.Wait{sync(1, 10, 50), sync(2, 10, 900)}, true, false},
		{"a shorter wait: not filtered", []domain.Wait{sync(1, 10, 49.9), sync(2, 10, 900)}, false, false},
		{"rows that are not fixed up show no filter by length", []domain.Wait{sync(1, 10, 0), sync(2, 10, 0)}, false, false},
		{"a row that is not fixed up would not have passed a filter by length", []domain.Wait{sync(1, 10, 0), sync(2, 10, 900)}, false, false},
		{"no waits: not filtered", []domain.Wait{row(1, 10, "db file sequential read", 80)}, false, false},
		{"one sample in ten seconds: history", []domain.Wait{history(sync(1, 10, 5))}, false, true},
		{"unknown period: not history", []domain.Wait{unknown}, true, false},
		{"a wait in V$ and in history stands for one second", []domain.Wait{history(sync(1, 10, 5)), sync(1, 10, 5)}, false, false},
		{"a wait in V$ and in history, the other way round", []domain.Wait{sync(1, 10, 5), history(sync(1, 10, 5))}, false, false},
		{"a row that prints no period does not hide that of the other file", []domain.Wait{history(unknown), unknown}, true, true},
		{"nor the other way round", []domain.Wait{unknown, history(unknown)}, true, true},
		{"fixed up in history only", []domain.Wait{sync(1, 10, 0), history(sync(1, 10, 5))}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := waitSeries(t, anyInstance, tt.rows...)
			if s.Filtered != tt.filtered || s.History != tt.history {
				t.Errorf("got filtered %t, history %t; want %t, %t", s.Filtered, s.History, tt.filtered, tt.history)
			}
		})
	}
}

func TestWhoWaitedIsWhatTheRowGivesFirst(t *testing.T) {
	t.Parallel()
	w := sync(1, 10, 100)
	w.Program, w.Machine = "JDBC Thin Client", "app1"
	if got := waitSeries(t, anyInstance, w).Waits[0].Who; got != "app1" {
		t.Errorf("machine before program: got %q", got)
	}
	w.Service, w.Module = "ORDERS", "checkout"
	if got := waitSeries(t, anyInstance, w).Waits[0].Who; got != "ORDERS" {
		t.Errorf("service first: got %q", got)
	}
}

func TestTheWatchOfCacheFusionTakesItsOwnEvents(t *testing.T) {
	t.Parallel()
	b := NewBuilder(domain.WatchLMS(), domain.Window{})
	must(t, b.Wait(row(1, 10, "gc cr block busy", 30)))
	must(t, b.Wait(sync(2, 10, 100)))
	must(t, b.Placement(placed(1, "ora_lms0_ORDP1", 7, 3)))
	must(t, b.Placement(placed(1, "ora_lgwr_ORDP1", 8, 3)))
	s := b.Build(anyInstance)
	if got := brief(s.Waits); !slices.Equal(got, []string{"1/10/30"}) {
		t.Errorf("waits: got %v", got)
	}
	if got := brief(s.OtherWaits); !slices.Equal(got, []string{"2/10/100"}) {
		t.Errorf("log file sync is another event here: got %v", got)
	}
	if len(s.Threads) != 1 || s.Threads[0].TID != 7 {
		t.Errorf("threads: got %+v", s.Threads)
	}
}
