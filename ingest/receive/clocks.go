package receive

import (
	"fmt"
	"sync"
	"time"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// timing is which clock a batch is timed by, and what is to be said of it.
type timing struct {
	at       func(boottimeUS int64) time.Time
	offset   *time.Duration // the node's clock minus the service's; nil unknown
	retimed  bool           // timed by the service's clock
	warnings []string
	events   []domain.NodeEvent
	told     []func() // once the events are stored
}

// pushed is one push as far as clocks are concerned.
type pushed struct {
	node     store.NodeID
	bootID   string        // of the batch
	clock    api.Clock     // what the batch says
	sent     api.SentClock // what its header says
	known    bool          // there was such a header
	received time.Time     // by the service's clock, before the body was read
}

// timing decides which clock a batch is timed by: the node's own, unless that is
// off. Then CLOCK_BOOTTIME says how long before the push each sample was taken, as
// long as it is still the same boot; what was sampled in an earlier one keeps the
// times that it came with.
func (r *Receiver) timing(p pushed) timing {
	t := timing{at: p.clock.At}
	if !p.known {
		t.warnings = append(t.warnings, api.ClockHeader+" is missing or cannot be read: the node's clock is not checked")
		return t
	}
	offset := time.UnixMicro(p.sent.UTCUS).Sub(p.received)
	t.offset = &offset
	off := offset.Abs() > r.options.MaxClockOffset
	if p.sent.BootID != p.bootID {
		if off {
			t.warnings = append(t.warnings, fmt.Sprintf("the node's clock is off by %s; samples of an earlier boot keep the times that they came with", rounded(offset)))
			r.tellStep(&t, p, offset)
		}
		return t
	}
	booted := p.received.Add(-time.Duration(p.sent.BoottimeUS) * time.Microsecond)
	farthest := p.clock.FarthestFrom(func(us int64) time.Time { return booted.Add(time.Duration(us) * time.Microsecond) })
	if !off && farthest <= r.options.MaxClockOffset {
		return t
	}
	t.retimed = true
	by := offset
	if !off { // it was set right after the samples were taken
		by = farthest
	}
	t.warnings = append(t.warnings, fmt.Sprintf("the node's clock was off by %s: samples are timed by the service's clock", rounded(by)))
	r.tellStep(&t, p, by)
	booted = r.anchors.of(p.node, p.bootID, booted)
	t.at = func(us int64) time.Time { return booted.Add(time.Duration(us) * time.Microsecond) }
	return t
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// tellStep tells, once for each boot, that a node's clock is off.
func (r *Receiver) tellStep(t *timing, p pushed, by time.Duration) {
	r.log.warn("clock of a node is off", p.node, "by", rounded(by), "retimed", t.retimed)
	if r.anchors.wasTold(p.node, p.bootID) {
		return
	}
	what := "samples keep the times that they came with"
	if t.retimed {
		what = "samples are timed by the service's clock"
	}
	t.events = append(t.events, domain.NodeEvent{
		At: p.received.UTC().Truncate(time.Microsecond), Kind: domain.EventClockStep, Subject: "clock",
		Detail: fmt.Sprintf("off by %s: %s", rounded(by), what),
	})
	t.told = append(t.told, func() { r.anchors.tell(p.node, p.bootID) })
}

// Bounds of anchors.
const (
	anchorsKept = 10_000
	sameAnchor  = time.Second // what a push may take on its way
)

// anchors are when nodes booted by the service's clock, as their first push that
// was re-timed tells: what follows is timed by the same, however long each push was
// on its way, so that intervals go on where the ones before ended.
type anchors struct {
	mu     sync.Mutex
	booted map[boot]*anchor
}

type boot struct {
	node store.NodeID
	id   string
}

type anchor struct {
	booted time.Time
	set    bool // booted is
	told   bool // that the clock is off
}

// get gives what is known of a boot. The lock is held.
func (a *anchors) get(b boot) *anchor {
	known := a.booted[b]
	if known == nil {
		if a.booted == nil || len(a.booted) >= anchorsKept {
			a.booted = map[boot]*anchor{}
		}
		known = &anchor{}
		a.booted[b] = known
	}
	return known
}

// wasTold says whether it was told that the clock is off.
func (a *anchors) wasTold(node store.NodeID, id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.get(boot{node, id}).told
}

func (a *anchors) tell(node store.NodeID, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.get(boot{node, id}).told = true
}

// of gives when a node booted, by the service's clock.
func (a *anchors) of(node store.NodeID, id string, booted time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.get(boot{node, id})
	if !known.set || booted.Sub(known.booted).Abs() > sameAnchor {
		known.booted, known.set = booted, true
	}
	return known.booted
}
