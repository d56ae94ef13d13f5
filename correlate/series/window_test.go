package series

import (
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// feedEverything gives one record of each kind for each second from 0 to n.
func feedEverything(t *testing.T, b ingest.Sink, n int) {
	t.Helper()
	for sec := 0; sec <= n; sec++ {
		must(t, feedSecond(b, float64(sec)))
	}
}

func feedSecond(b ingest.Sink, sec float64) error {
	n := int64(sec)
	host := domain.CPUTimes{CPU: domain.AllCPUs, User: 25 * n, Idle: 75 * n}
	mpstat := mpstatRow(sec, 5, 0.6)
	event := domain.SystemEvent{At: clock(sec), InstID: 1, Event: domain.EventLogFileSync, TotalWaits: n, TimeWaited: time.Duration(n) * time.Millisecond}
	own := row(sec, 3, domain.EventLogFileParallelWrite, 1)
	own.Background = true
	for _, err := range []error{
		b.Interrupts(threeLines(sec, 3)),
		b.Softirqs(softirqs(sec, uint64(10*n), uint64(20*n))),
		b.CPUTimes(statReading(sec, host)),
		b.Disks(diskReading(sec, domain.DiskCounters{Device: "sda", Writes: uint64(n), WriteMS: uint64(2 * n)})),
		b.CPU(mpstat),
		b.System(vmstatRow(sec, 1, 0, 0)),
		b.Disk(domain.DiskSample{At: clock(sec), Device: "dm-3", WritesPerS: 1, WriteAwaitMS: 1}),
		b.Placement(placed(sec, "ora_lgwr_ORDP1", 7, 1)),
		b.Wait(sync(sec, 10, 100)),
		b.Wait(own),
		b.Wait(row(sec, 11, "wait for scn ack", 1)),
		b.Histogram(histogram(sec, bucket(1024, uint64(n)))),
		b.SystemEvent(event),
		b.Counter(counter(sec, 1, n)),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// edges are the first and the last instant that a kind of record reaches.
func edges(s *Series) map[string]Span {
	out := map[string]Span{}
	add := func(kind string, from, to Micros) {
		e, ok := out[kind]
		if !ok {
			e = emptySpan()
		}
		out[kind] = Span{min(e.From, from), max(e.To, to)}
	}
	matrix := func(kind string, m *Matrix) {
		for _, sp := range m.Spans {
			add(kind, sp.From, sp.To)
		}
	}
	matrix("interrupts", &s.Interrupts)
	matrix("softirqs", &s.NetRX)
	matrix("cpu", &s.CPU.Busy)
	for _, h := range s.CPU.Host {
		add("host", h.From, h.To)
	}
	for _, p := range s.System {
		add("system", p.At, p.At)
	}
	for _, p := range s.Disks {
		add("disk "+p.Device, p.At, p.At)
	}
	for _, at := range s.Threads[0].At {
		add("placement", at, at)
	}
	for kind, waits := range map[string][]Wait{"waits": s.Waits, "own waits": s.OwnWaits, "other waits": s.OtherWaits} {
		for _, w := range waits {
			add(kind, w.At, w.At)
		}
	}
	for _, tick := range s.Ticks {
		add("ticks", tick.At, tick.At)
	}
	for _, h := range s.Histograms {
		add("histograms", h.From, h.To)
	}
	for name, rates := range s.Counters {
		for _, r := range rates {
			add(name, r.From, r.To)
		}
	}
	return out
}

// A window is half-open: what has an instant lies in [From, To). What covers
// an interval lies within it, so the row that ends at From is not the window's
// and the one that ends at To is.
func TestAWindowNarrowsEveryKindOfRecord(t *testing.T) {
	t.Parallel()
	b := NewBuilder(domain.WatchLGWR(), domain.Window{From: clock(10), To: clock(15)})
	feedEverything(t, b, 20)
	s := b.Build(Choice{InstID: 1})
	instants, intervals, points := span(10, 14), span(10, 15), span(11, 15)
	want := map[string]Span{
		"interrupts": intervals, "softirqs": intervals, "cpu": intervals, "host": intervals,
		"system": points, "disk sda": points, "disk dm-3": points,
		"placement": instants, "waits": instants, "own waits": instants, "other waits": instants, "ticks": instants,
		"histograms": instants, "user commits": instants, "event:log file sync:waits": instants, "event:log file sync:time_us": instants,
	}
	got := edges(s)
	for kind, w := range want {
		if got[kind] != w {
			t.Errorf("%s: got %v, want %v", kind, relative([]Span{got[kind]}), relative([]Span{w}))
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d kinds, want %d: %v", len(got), len(want), got)
	}
	if s.Window != span(10, 15) {
		t.Errorf("window: got %v", relative([]Span{s.Window}))
	}
}

// Device rates are those of the window: eth2 gains 100/s throughout, and eth9
// only outside of it.
func TestDevicesAreThoseOfTheWindow(t *testing.T) {
	t.Parallel()
	b := NewBuilder(domain.WatchLGWR(), domain.Window{From: clock(10), To: clock(15)})
	for sec := range 20 {
		n := uint64(100 * sec)
		outside := uint64(7)
		if sec > 16 {
			outside = 7000
		}
		must(t, b.Interrupts(reading(float64(sec), []int{0}, network("40", "eth2", n), network("41", "eth9", outside))))
	}
	got := b.Build(anyInstance).Devices
	if len(got) != 1 || got[0].Name != "eth2" || !same(got[0].Total, 100) {
		t.Errorf("got %+v", got)
	}
}

func TestTheWindowOfASeries(t *testing.T) {
	t.Parallel()
	everything := func(t *testing.T, b *Builder) { t.Helper(); feedEverything(t, b, 20) }
	tests := []struct {
		name     string
		from, to time.Time
		feed     func(*testing.T, *Builder)
		want     Span
	}{
		{
			// The last CPU was read within the second after its row.
			name: "placement gives it", feed: everything, want: span(0, 21),
		},
		{name: "both ends given", from: clock(2), to: clock(8), feed: everything, want: span(2, 8)},
		{name: "both ends given, wider than the records", from: clock(-5), to: clock(80), feed: everything, want: span(-5, 80)},
		{name: "only the begin given", from: clock(5), feed: everything, want: span(5, 21)},
		{name: "only the end given", to: clock(8), feed: everything, want: span(0, 8)},
		{
			name: "interrupts, where there is no placement",
			feed: func(t *testing.T, b *Builder) {
				t.Helper()
				for sec := range 5 {
					must(t, b.Interrupts(threeLines(float64(sec), 3)))
				}
				must(t, b.Wait(sync(90, 10, 1)))
			},
			want: span(0, 4),
		},
		{
			name: "waits, where there is nothing of the host",
			feed: func(t *testing.T, b *Builder) {
				t.Helper()
				must(t, b.Wait(sync(9, 10, 1)))
				must(t, b.Wait(sync(3, 10, 1)))
			},
			want: Span{instant(3), instant(9) + 1},
		},
		{
			name: "histograms, where there is nothing else",
			feed: func(t *testing.T, b *Builder) {
				t.Helper()
				must(t, b.Histogram(histogram(2, bucket(1024, 1))))
				must(t, b.Histogram(histogram(7, bucket(1024, 2))))
			},
			want: span(2, 7),
		},
		{name: "no records and no window", feed: func(*testing.T, *Builder) {}, want: Span{}},
		{name: "no records in a window", from: clock(2), to: clock(8), feed: func(*testing.T, *Builder) {}, want: span(2, 8)},
		{name: "no records after a begin", from: clock(2), feed: func(*testing.T, *Builder) {}, want: span(2, 2)},
		{name: "no records before an end", to: clock(8), feed: func(*testing.T, *Builder) {}, want: span(8, 8)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := NewBuilder(domain.WatchLGWR(), domain.Window{From: tt.from, To: tt.to})
			tt.feed(t, b)
			if got := b.Build(Choice{InstID: 1}).Window; got != tt.want {
				t.Errorf("got %v, want %v", relative([]Span{got}), relative([]Span{tt.want}))
			}
		})
	}
}

func TestExtentsOfHostAndOracle(t *testing.T) {
	t.Parallel()
	none := Span{}
	tests := []struct {
		name         string
		feed         func(*Builder) error
		host, oracle Span
	}{
		{"nothing", func(*Builder) error { return nil }, none, none},
		{"placement", func(b *Builder) error { return b.Placement(placed(4, "ora_lgwr_ORDP1", 7, 1)) }, span(4, 4), none},
		{"vmstat", func(b *Builder) error { return b.System(vmstatRow(4, 1, 0, 0)) }, span(4, 4), none},
		{"mpstat", func(b *Builder) error { return b.CPU(mpstatRow(4, 0, 0.6)) }, span(4, 4), none},
		{"iostat", func(b *Builder) error {
			return b.Disk(domain.DiskSample{At: clock(4), Device: "sda", WritesPerS: 1, WriteAwaitMS: 1})
		}, span(4, 4), none},
		{"interrupts", func(b *Builder) error {
			return cmpErr(b.Interrupts(threeLines(1, 3)), b.Interrupts(threeLines(3, 3)))
		}, span(1, 3), none},
		{"softirqs", func(b *Builder) error { return cmpErr(b.Softirqs(softirqs(1, 1)), b.Softirqs(softirqs(3, 2))) }, span(1, 3), none},
		{"ASH, whatever the event", func(b *Builder) error {
			return cmpErr(b.Wait(row(6, 10, "db file sequential read", 1)), b.Wait(row(5, 10, "", 0)))
		}, none, span(5, 6)},
		{"a histogram", func(b *Builder) error { return b.Histogram(histogram(5, bucket(1024, 1))) }, none, span(5, 5)},
		{"a counter", func(b *Builder) error { return b.Counter(counter(5, 1, 1)) }, none, span(5, 5)},
		{"everything", func(b *Builder) error { return cmpErr(feedSecond(b, 2), feedSecond(b, 3)) }, span(2, 3), span(2, 3)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			must(t, tt.feed(b))
			host, oracle, _ := b.Extents()
			if got := []Span{host, oracle}; !slices.Equal(got, []Span{tt.host, tt.oracle}) {
				t.Errorf("got %v, want %v", relative(got), relative([]Span{tt.host, tt.oracle}))
			}
		})
	}
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestRowsBeyondWhatIsKeptAreTold(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	b.othersCut = 3
	checkNotes(t, b.Build(anyInstance).Notes, "3 ASH rows of other events were left out")
}

func TestInstantsAreMicrosecondsOfUTC(t *testing.T) {
	t.Parallel()
	// 2026-03-02 00:00 UTC is day 20,514 since 1970 (56 years of 365 days, 14
	// leap days, 31 + 28 + 1 days): 1,772,409,600 s.
	if got := FromTime(midnight); got != 1_772_409_600_000_000 {
		t.Errorf("got %d", got)
	}
	seoul := time.FixedZone("KST", 9*3600)
	at := time.Date(2026, time.March, 2, 9, 0, 0, 1500, seoul)
	if got := FromTime(at); got != 1_772_409_600_000_001 {
		t.Errorf("in another zone: got %d", got)
	}
	if got := ToTime(FromTime(midnight)); !got.Equal(midnight) || got.Location() != time.UTC {
		t.Errorf("and back: got %v", got)
	}
	checkValue(t, "length", Span{0, 2_500_000}.Seconds(), 2.5)
}
