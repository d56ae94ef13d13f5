package series

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// manyRecords are records of several kinds, files and instances, each of which
// may come at any place: the sink promises order within a source only.
func manyRecords() []func(*Builder) error {
	var out []func(*Builder) error
	for n := range 60 {
		sec := float64(n)
		for _, cpu := range []int{domain.AllCPUs, 0, 1, 4} {
			out = append(out, func(b *Builder) error { return b.CPU(mpstatRow(sec, cpu, 0.5+0.001*sec)) })
		}
		out = append(out,
			func(b *Builder) error { return b.Placement(placed(sec, "ora_lgwr_ORDP1", 7, n%8)) },
			func(b *Builder) error { return b.Placement(placed(sec, "ora_lg00_ORDP1", 8, n%5)) },
			func(b *Builder) error { return b.System(vmstatRow(sec, sec, 0, 0)) },
			func(b *Builder) error {
				return b.Disk(domain.DiskSample{At: clock(sec), Device: "dm-" + fmt.Sprint(n%3), WritesPerS: 1, WriteAwaitMS: sec + 1})
			},
		)
		for inst := 1; inst <= 2; inst++ {
			out = append(out,
				func(b *Builder) error {
					h := histogram(sec, bucket(1024, uint64(10*n*inst)), bucket(131072, uint64(n)))
					h.InstID = inst
					return b.Histogram(h)
				},
				func(b *Builder) error { return b.Counter(counter(sec, inst, int64(n*n*inst))) },
			)
			for _, session := range []int{10, 11, 12} {
				w := sync(sec, session, sec*float64(session))
				w.InstID = inst
				late := w
				late.TimeWaited, late.Service, late.Period = 0, "ORDERS", 10*time.Second
				scn := row(sec, session, domain.EventWaitForSCNAck, sec)
				scn.InstID = inst
				out = append(out,
					func(b *Builder) error { return b.Wait(w) },
					func(b *Builder) error { return b.Wait(late) },
					func(b *Builder) error { return b.Wait(scn) },
				)
			}
		}
	}
	out = append(out,
		func(b *Builder) error { return b.Instance(domain.Instance{InstID: 1, Name: "ORDP1", Host: "db1"}) },
		func(b *Builder) error { return b.Instance(domain.Instance{InstID: 2, Name: "ORDP2", Host: "db2"}) },
	)
	return out
}

// Printed rather than compared, since NaN differs from itself. Maps are printed
// in the order of their keys.
func printed(t *testing.T, records []func(*Builder) error) string {
	t.Helper()
	b := newTestBuilder()
	// Readings of counters come in the order of their files.
	for sec := range 20 {
		must(t, b.Interrupts(threeLines(float64(sec), 3)))
	}
	for _, feed := range records {
		must(t, feed(b))
	}
	choices, warnings, err := b.Instances(Choice{Node: "db1", InstID: AnyInstID})
	must(t, err)
	text := fmt.Sprint(choices, warnings)
	for _, c := range choices {
		s := b.Build(c)
		s.Watch = domain.Watch{} // holds compiled patterns
		text += fmt.Sprintf("%+v", *s)
	}
	return text
}

func TestTheOrderOfRecordsDoesNotMatter(t *testing.T) {
	t.Parallel()
	records := manyRecords()
	want := printed(t, records)
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		if got := printed(t, records); got != want {
			t.Fatalf("another order of records gives another series:\n%s\n%s", firstDifference(got, want), firstDifference(want, got))
		}
	}
	// Nor do doubles, as where two files hold the same rows.
	if got := printed(t, append(records, records[:len(records)/2]...)); got != want {
		t.Errorf("records that come twice give another series:\n%s\n%s", firstDifference(got, want), firstDifference(want, got))
	}
}

// firstDifference gives some of a from where it differs from b.
func firstDifference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-80):min(len(a), i+80)]
}
