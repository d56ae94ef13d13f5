package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/refcase"
)

// Outcome is what the engine said of one scenario.
type Outcome struct {
	Named
	Truth   refcase.Truth
	Finding *domain.Finding
}

// Blamed says whether interrupts were blamed, rightly or not.
func (o *Outcome) Blamed() bool { return o.Finding.Verdict == domain.CauseInterrupts }

// Right says whether the verdict is one of those that are right.
func (o *Outcome) Right() bool { return slices.Contains(o.Truth.Accept, o.Finding.Verdict) }

// Judge generates a scenario and lets the engine judge it.
func Judge(n Named, prm correlate.Params) (*Outcome, error) {
	b := series.NewBuilder(domain.WatchLGWR(), domain.Window{})
	truth, err := n.Scenario.Generate(b)
	if err != nil {
		return nil, fmt.Errorf("%s: generate: %w", n.Name, err)
	}
	choices, _, err := b.Instances(series.Choice{Node: n.Scenario.Node, Instance: n.Scenario.Instance, InstID: 1})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	return &Outcome{n, truth, correlate.Analyze(b.Build(choices[0]), prm)}, nil
}

// JudgeAll judges scenarios on a number of workers and calls each with every
// outcome, in order. It stops at the first error or when ctx ends.
func JudgeAll(ctx context.Context, list []Named, prm correlate.Params, workers int, each func(*Outcome)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := make([]*Outcome, len(list))
	errs := make([]error, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, workers) {
		wg.Go(func() {
			for i := range next {
				out[i], errs[i] = Judge(list[i], prm)
				if errs[i] != nil {
					cancel()
				}
			}
		})
	}
feed:
	for i := range list {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	for i := range list {
		if errs[i] != nil {
			return errs[i]
		}
		if out[i] == nil {
			return fmt.Errorf("stopped after %d of %d scenarios: %w", i, len(list), ctx.Err())
		}
		each(out[i])
	}
	return nil
}
