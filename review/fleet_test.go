package review_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/refcase"
	"github.com/corewait/corewait/review"
	"github.com/corewait/corewait/store"
)

// innocent is an hour of another node in which as many stalls have no cause that
// the records show.
func innocent(node, instance string) refcase.Scenario {
	s := refcase.Reference()
	s.Node, s.Instance, s.Seed = node, instance, s.Seed+1
	s.Stalls.Cause = refcase.CauseNone
	return s
}

// q-values are those of Benjamini and Hochberg by hand: of p1 <= p2 the first is
// min(2 p1, p2), the second p2.
func TestFindingsOfOneDayAreTestedTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	guilty, other := refcase.Reference(), innocent("db2", "ORDP2")
	for _, s := range []refcase.Scenario{guilty, other} {
		s.Start, s.Hours = yesterday().Add(9*time.Hour), 0.7
		dir, _ := write(t, s)
		f.receive(dir)
	}
	f.review(time.Now())
	heads := f.findings(store.ScopeDay)
	if len(heads) != 2 {
		t.Fatalf("%d findings of the day, want two", len(heads))
	}
	for i := range heads {
		h, o := heads[i], heads[1-i]
		if h.Fleet == nil || o.Fleet == nil || h.Fleet.Tests != 2 {
			t.Fatalf("fleet tests %+v and %+v, want two together", h.Fleet, o.Fleet)
		}
		want := max(h.Fleet.P, o.Fleet.P)
		if h.Fleet.P < o.Fleet.P {
			want = min(2*h.Fleet.P, o.Fleet.P)
		}
		isGuilty := h.Instance == guilty.Instance
		if math.Abs(h.Fleet.Q-want) > 1e-12 || h.Fleet.Accepted != isGuilty || (h.Verdict == domain.CauseInterrupts) != isGuilty {
			t.Errorf("%s: verdict %s, %+v, want q %v", h.Instance, h.Verdict, *h.Fleet, want)
		}
	}
}

// With 50 permutations no p-value is under 1/51, which no rate of 1 % accepts. The
// finding keeps that p-value; the fleet's test has one of more permutations.
func TestAFindingThatOnlyLacksPermutationsGetsThemForTheFleet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *review.Options) { o.Params.Permutations = 50 })
	s := refcase.Reference()
	s.Start, s.Hours = yesterday().Add(9*time.Hour), 0.7
	dir, _ := write(t, s)
	f.receive(dir)
	f.review(time.Now())
	heads := f.findings(store.ScopeDay)
	if len(heads) != 1 || heads[0].Fleet == nil {
		t.Fatalf("findings %+v", heads)
	}
	stored, err := f.Finding(t.Context(), heads[0].Node, heads[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	p := *stored.Document.Coincidence.PValue
	if fleet := heads[0].Fleet; math.Abs(p-1.0/51) > 1e-9 || fleet.P >= p || !fleet.Accepted {
		t.Errorf("the finding's p is %v, the fleet's %+v", p, *fleet)
	}
}

func TestAReviewThatIsStoppedGoesOnLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	s := refcase.Reference()
	s.Start, s.Hours = yesterday().Add(9*time.Hour), 0.3
	dir, _ := write(t, s)
	f.receive(dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if done, err := f.Run(ctx, time.Now()); err == nil || done.Hours != 0 {
		t.Fatalf("a review without time did %v, error %v", done, err)
	}
	if done := f.review(time.Now()); done.Hours != 1 || done.Days != 1 {
		t.Errorf("the next one did %v, want the hour and the day", done)
	}
}
