package review

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/stats"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// fleet names the findings that are tested together, watch by watch: of all
// instances, for one day or week.
type fleet struct {
	scope    store.Scope
	from, to time.Time
}

// pValue gives the interrupt test's p-value of a finding that could have been
// supported. One with too few stalls could not, whatever CPUs they fell on: it adds
// no false discovery, and is no test of the fleet. The number of stalls says
// nothing of where they fall where interrupts are innocent, so that choosing by it
// spoils no p-value.
func pValue(f *domain.Finding, prm correlate.Params) (p float64, tested bool) {
	c := f.Coincidence
	if c == nil || c.PValue == nil || c.StallsExposed+c.StallsUnexposed < prm.SupportedStalls {
		return 0, false
	}
	return *c.PValue, true
}

// testFleets tests the findings of each day and week that got a verdict in this
// run together with those that it had before.
func (p *pass) testFleets(ctx context.Context) error {
	for f, held := range p.fleets {
		if err := p.testWatches(ctx, f, held); err != nil {
			if err := p.fail(ctx, "fleet of the "+string(f.scope), held.Node, f.from, err); err != nil {
				return err
			}
			continue
		}
		p.done.Fleet++
	}
	return nil
}

// testWatches tests a fleet, and takes the mark off the window that was held for it.
func (p *pass) testWatches(ctx context.Context, f fleet, held store.DirtyWindow) error {
	for _, watch := range p.o.Watches {
		if err := p.testFleet(ctx, f, watch); err != nil {
			return err
		}
	}
	_, err := p.st.CleanWindow(ctx, held)
	return err
}

// testFleet gives each finding the share of false ones among those that are at
// least as strong (Benjamini and Hochberg 1995), and says which of them hold.
func (p *pass) testFleet(ctx context.Context, f fleet, watch string) error {
	heads, err := p.tested(ctx, f, watch)
	if err != nil {
		return err
	}
	if err := p.refine(ctx, watch, heads); err != nil {
		return err
	}
	ps := make([]float64, len(heads))
	for i := range heads {
		ps[i] = heads[i].Fleet.P
	}
	for i, q := range stats.AdjustedP(ps) {
		was, is := heads[i].Fleet, store.FleetTest{P: ps[i], Q: q, Tests: len(ps), Accepted: q <= p.o.FDR}
		if *was == is {
			continue
		}
		err := p.st.SaveFleetTest(ctx, heads[i].Node, heads[i].ID, heads[i].Revision, is)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // it was judged again meanwhile
			return err
		}
	}
	return nil
}

// tested lists the findings of a fleet that have a p-value.
func (p *pass) tested(ctx context.Context, f fleet, watch string) ([]store.FindingHead, error) {
	heads, err := p.heads(ctx, store.FindingFilter{Scope: f.scope, Watch: watch}, domain.Window{From: f.from, To: f.to})
	return slices.DeleteFunc(heads, func(h store.FindingHead) bool { return h.Fleet == nil }), err
}

// mostPermutations bounds what the test of one finding may cost: about as much as
// 50 analyses.
const mostPermutations = 100_000

// refine draws more permutations for findings whose p-value is the least that
// theirs could give, where that is too coarse among so many tests for any of them
// to hold. The finding itself stays what analyze says.
func (p *pass) refine(ctx context.Context, watch string, heads []store.FindingHead) error {
	floor := 1 / float64(p.o.Params.Permutations+1)
	strongest := 0
	for i := range heads {
		if heads[i].Fleet.P <= floor*1.001 {
			strongest++
		}
	}
	if strongest == 0 || floor*float64(len(heads))/float64(strongest) <= p.o.FDR {
		return nil
	}
	prm := p.o.Params
	prm.Permutations = min(mostPermutations, int(math.Ceil(2*float64(len(heads))/p.o.FDR)))
	for i := range heads {
		h := &heads[i]
		if h.Fleet.P > floor*1.001 {
			continue
		}
		res, err := p.judge(ctx, h.Node, watch, h.Window, prm)
		if err != nil {
			return err
		}
		for _, again := range res.Findings {
			if v, ok := pValue(again, prm); ok && again.Instance == h.Instance {
				p.log.InfoContext(ctx, "permuted more for the fleet's test", "node", p.names[h.Node], "instance", h.Instance, "from", h.Window.From, "p", v)
				test := *h.Fleet
				test.P = v
				h.Fleet = &test
			}
		}
	}
	return nil
}
