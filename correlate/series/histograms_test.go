package series

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// bucket counts waits under so many microseconds.
func bucket(below int64, count uint64) domain.HistogramBucket {
	return domain.HistogramBucket{Below: time.Duration(below) * time.Microsecond, Count: count}
}

func histogram(sec float64, buckets ...domain.HistogramBucket) *domain.HistogramSnapshot {
	return &domain.HistogramSnapshot{At: clock(sec), InstID: 1, Event: domain.EventLogFileSync, Buckets: buckets}
}

func step(from, to float64, gains ...BucketStep) HistogramStep {
	return HistogramStep{Span: span(from, to), Event: domain.EventLogFileSync, Steps: gains}
}

func TestHistogramReadingsBecomeSteps(t *testing.T) {
	t.Parallel()
	dated := bucket(131072, 4)
	dated.LastUpdate = clock(1.25)
	other := histogram(1, bucket(1024, 7))
	other.Event = domain.EventSYNCRemoteWrite
	otherLater := histogram(2, bucket(1024, 9))
	otherLater.Event = domain.EventSYNCRemoteWrite
	milli := func(sec float64, buckets ...domain.HistogramBucket) *domain.HistogramSnapshot {
		h := histogram(sec, buckets...)
		h.Milli = true
		return h
	}
	noInst := func(h *domain.HistogramSnapshot) *domain.HistogramSnapshot {
		h.InstID = -1
		return h
	}
	tests := []struct {
		name     string
		readings []*domain.HistogramSnapshot
		want     []HistogramStep
	}{
		{
			name:     "buckets that gained, with the end of their last wait",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 100), bucket(2048, 5), bucket(131072, 3)), histogram(2, bucket(1024, 150), bucket(2048, 5), dated)},
			want:     []HistogramStep{step(0, 2, BucketStep{1024, 50, 0}, BucketStep{131072, 1, instant(1.25)})},
		},
		{
			name:     "a bucket that the earlier reading lacks had no waits",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 90)), histogram(1, bucket(1024, 100)), histogram(2, bucket(1024, 100), bucket(262144, 2))},
			want:     []HistogramStep{step(0, 1, BucketStep{1024, 10, 0}), step(1, 2, BucketStep{262144, 2, 0})},
		},
		{
			name:     "a bucket under others of the first reading had no waits",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 100), bucket(524288, 1)), histogram(1, bucket(1024, 100), bucket(262144, 999), bucket(524288, 1))},
			want:     []HistogramStep{step(0, 1, BucketStep{262144, 999, 0})},
		},
		{
			// The first reading may be cut after its first bucket: 40 waits since
			// instance start would pass for 40 in a second.
			name:     "a bucket above all of the first reading makes the interval unknown",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 100)), histogram(1, bucket(1024, 100), bucket(262144, 40)), histogram(2, bucket(1024, 100), bucket(262144, 41))},
			want:     []HistogramStep{step(1, 2, BucketStep{262144, 1, 0})},
		},
		{
			name:     "a new bucket of a thousand waits makes the interval unknown",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 90)), histogram(1, bucket(1024, 100)), histogram(2, bucket(1024, 100), bucket(2048, 1000)), histogram(3, bucket(1024, 101), bucket(2048, 1000))},
			want:     []HistogramStep{step(0, 1, BucketStep{1024, 10, 0}), step(2, 3, BucketStep{1024, 1, 0})},
		},
		{
			name:     "an interval without waits is a step without gains",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 100)), histogram(1, bucket(1024, 100))},
			want:     []HistogramStep{step(0, 1)},
		},
		{
			name:     "a bucket that fell: the instance restarted and the interval is unknown",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 100), bucket(131072, 3)), histogram(1, bucket(1024, 20), bucket(131072, 3)), histogram(2, bucket(1024, 25), bucket(131072, 3))},
			want:     []HistogramStep{step(1, 2, BucketStep{1024, 5, 0})},
		},
		{
			name:     "a bucket that is gone for good: the instance restarted",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 10), bucket(131072, 3)), histogram(1, bucket(1024, 20)), histogram(2, bucket(1024, 25)), histogram(3, bucket(1024, 25), bucket(131072, 1))},
			want:     []HistogramStep{step(1, 2, BucketStep{1024, 5, 0}), step(2, 3, BucketStep{131072, 1, 0})},
		},
		{
			// Else all 5,003 waits since instance start would fall into (1, 2).
			name:     "a reading that is cut short is left out, the next interval spans it",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 10), bucket(131072, 5000)), histogram(1, bucket(1024, 20)), histogram(2, bucket(1024, 25), bucket(131072, 5003))},
			want:     []HistogramStep{step(0, 2, BucketStep{1024, 15, 0}, BucketStep{131072, 3, 0})},
		},
		{
			name:     "readings in any order, and twice",
			readings: []*domain.HistogramSnapshot{histogram(2, bucket(1024, 9)), histogram(0, bucket(1024, 1)), histogram(1, bucket(1024, 4)), histogram(2, bucket(1024, 9)), histogram(0, bucket(1024, 1))},
			want:     []HistogramStep{step(0, 1, BucketStep{1024, 3, 0}), step(1, 2, BucketStep{1024, 5, 0})},
		},
		{
			name:     "events are kept apart",
			readings: []*domain.HistogramSnapshot{histogram(1, bucket(1024, 1)), other, histogram(2, bucket(1024, 2)), otherLater},
			want: []HistogramStep{
				{Span: span(1, 2), Event: domain.EventSYNCRemoteWrite, Steps: []BucketStep{{1024, 2, 0}}},
				step(1, 2, BucketStep{1024, 1, 0}),
			},
		},
		{
			// Their edges differ: subtracted from one another they give nonsense.
			name:     "of the micro and the milli view of one event the micro view counts",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(131072, 50)), milli(0, bucket(128000, 50)), histogram(1, bucket(131072, 51)), milli(1.5, bucket(128000, 52)), histogram(2, bucket(131072, 53))},
			want:     []HistogramStep{step(0, 1, BucketStep{131072, 1, 0}), step(1, 2, BucketStep{131072, 2, 0})},
		},
		{
			name:     "the milli view alone counts",
			readings: []*domain.HistogramSnapshot{milli(0, bucket(128000, 50)), histogram(0.5, bucket(131072, 51)), milli(1, bucket(128000, 52))},
			want:     []HistogramStep{step(0, 1, BucketStep{128000, 2, 0})},
		},
		{
			name:     "readings without INST_ID are of the same instance as those with one",
			readings: []*domain.HistogramSnapshot{histogram(0, bucket(1024, 1)), noInst(histogram(0, bucket(1024, 1))), noInst(histogram(1, bucket(1024, 3))), histogram(2, bucket(1024, 6))},
			want:     []HistogramStep{step(0, 1, BucketStep{1024, 2, 0}), step(1, 2, BucketStep{1024, 3, 0})},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			for _, r := range tt.readings {
				must(t, b.Histogram(r))
			}
			if got := b.Build(Choice{InstID: 1}).Histograms; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			if got := b.Build(Choice{InstID: 2}).Histograms; len(got) > 1 {
				t.Errorf("another instance: got %+v", got)
			}
		})
	}
}

func TestHistogramsMayBeReusedByTheirReader(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	h := histogram(0, bucket(1024, 1))
	must(t, b.Histogram(h))
	h.At, h.Buckets[0].Count = clock(1), 5
	must(t, b.Histogram(h))
	want := []HistogramStep{step(0, 1, BucketStep{1024, 4, 0})}
	if got := b.Build(anyInstance).Histograms; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func counter(sec float64, inst int, value int64) domain.Counter {
	return domain.Counter{At: clock(sec), InstID: inst, Name: "user commits", Value: value}
}

// Rates by hand: gain over seconds.
func TestSystemCountersBecomeRates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		inst   int
		points []domain.Counter
		want   []Rate
	}{
		{"gains over seconds", 1, []domain.Counter{counter(0, 1, 1000), counter(10, 1, 1500), counter(12, 1, 1500)}, []Rate{{span(0, 10), 50}, {span(10, 12), 0}}},
		{"in any order, and twice", 1, []domain.Counter{counter(10, 1, 1500), counter(0, 1, 1000), counter(10, 1, 1500), counter(0, 1, 1000)}, []Rate{{span(0, 10), 50}}},
		{"a counter that fell: the instance restarted", 1, []domain.Counter{counter(0, 1, 1000), counter(10, 1, 20), counter(20, 1, 40)}, []Rate{{span(10, 20), 2}}},
		{"a single reading gives no rate", 1, []domain.Counter{counter(0, 1, 1000)}, nil},
		{"another instance's counter is not taken", 1, []domain.Counter{counter(0, 1, 1000), counter(0, 2, 5), counter(10, 2, 9000), counter(10, 1, 1500)}, []Rate{{span(0, 10), 50}}},
		{"the other instance has its own", 2, []domain.Counter{counter(0, 1, 1000), counter(0, 2, 5), counter(10, 2, 905), counter(10, 1, 1500)}, []Rate{{span(0, 10), 90}}},
		{"readings without INST_ID are of the same instance as those with one", 1, []domain.Counter{counter(0, -1, 1000), counter(10, 1, 1500), counter(20, -1, 1600)}, []Rate{{span(0, 10), 50}, {span(10, 20), 10}}},
		{"none belong to it", NoInstID, []domain.Counter{counter(0, 1, 1000), counter(10, 1, 1500)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			for _, p := range tt.points {
				must(t, b.Counter(p))
			}
			must(t, b.Counter(domain.Counter{InstID: 1, Name: "user commits", Value: 7}))
			if got := b.Build(Choice{InstID: tt.inst}).Counters["user commits"]; !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestSystemEventsAreCountersOfWaitsAndTime(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	event := func(sec float64, waits int64, waited time.Duration) domain.SystemEvent {
		return domain.SystemEvent{At: clock(sec), InstID: 1, Event: domain.EventLogFileSync, TotalWaits: waits, TimeWaited: waited}
	}
	must(t, b.SystemEvent(event(0, 100, time.Second)))
	must(t, b.SystemEvent(event(5, 200, -1))) // time not known at this reading
	must(t, b.SystemEvent(event(10, 300, 2*time.Second)))
	must(t, b.SystemEvent(domain.SystemEvent{InstID: 1, Event: domain.EventLogFileSync, TotalWaits: 1}))
	got := b.Build(Choice{InstID: 1}).Counters
	want := map[string][]Rate{
		"event:log file sync:waits":   {{span(0, 5), 20}, {span(5, 10), 20}},
		"event:log file sync:time_us": {{span(0, 10), 100_000}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestIntervalsOfHistogramsThatAreUnknownAreNoted(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	must(t, b.Histogram(histogram(0, bucket(1024, 100))))
	must(t, b.Histogram(histogram(1, bucket(1024, 100), bucket(262144, 40))))
	checkNotes(t, b.Build(anyInstance).Notes, "1 intervals of histograms are unknown")
}
