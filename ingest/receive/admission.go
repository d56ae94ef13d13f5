package receive

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/corewait/corewait/api"
)

// admission bounds what is worked on at the same time, by all and by each
// credential, and lets fewer in while the database lags.
type admission struct {
	now   func() time.Time
	most  int
	bytes int64
	slow  time.Duration
	perS  float64
	burst float64

	mu        sync.Mutex
	inFlight  int
	waiting   []*waiter
	reserved  int64
	each      map[string]*credentialUse
	durations durations
}

// Bounds of credentials, and of those that wait.
const (
	inFlightEach = 2 // an agent sends one at a time; one more while a connection dies
	burstSeconds = 3 // how many seconds' worth of pushes may come at once
	laggingShare = 4 // while the database lags, one in so many is let in at the same time
	waitingEach  = 4 // as many times more pushes wait than are worked on
	waitPatience = 2 * time.Second
	usesKept     = 10_000
)

// credentialUse is what one credential does.
type credentialUse struct {
	inFlight int
	pushes   bucket
}

func newAdmission(o *Options) *admission {
	return &admission{
		now: o.Now, most: o.MaxInFlight, bytes: o.MaxInFlightBytes, slow: o.SlowPush, perS: o.PushesPerSecond, burst: max(1, burstSeconds*o.PushesPerSecond),
		each: map[string]*credentialUse{},
	}
}

// busy is the answer to come again after some time, and up to as long after it, so
// that not all come at once.
func busy(why string, after time.Duration) *api.Error {
	return &api.Error{Code: api.CodeBusy, Message: why, RetryAfter: after + rand.N(after)} //nolint:gosec // spreads load
}

// errAway is the answer while the database is.
func errAway() *api.Error {
	e := busy("the database is away", 5*time.Second)
	e.Code = api.CodeUnavailable
	return e
}

// enter lets a push of a credential in, until leave. Where there is no room it
// waits a little for some: that costs less than to come again.
func (a *admission) enter(key string) *api.Error {
	w, refused := a.come(key)
	if refused != nil || w == nil {
		return refused
	}
	timer := time.NewTimer(waitPatience)
	defer timer.Stop()
	select {
	case <-w.granted:
		return nil
	case <-timer.C:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiting, w)
	if i < 0 { // it was let in just now
		return nil
	}
	a.waiting = slices.Delete(a.waiting, i, i+1)
	a.each[key].inFlight--
	return busy("as many pushes as are taken at the same time are worked on", time.Second)
}

// waiter is a push that waits to be let in.
type waiter struct{ granted chan struct{} }

// come lets a push in, or into the line of those that wait.
func (a *admission) come(key string) (*waiter, *api.Error) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	use := a.use(key, now)
	full := a.inFlight >= a.most || len(a.waiting) > 0
	switch {
	case use.inFlight >= inFlightEach:
		return nil, busy("earlier pushes of this credential are still worked on", time.Second)
	case a.inFlight >= a.room(now) && a.durations.verdict:
		return nil, busy("the database lags", 2*time.Second)
	case full && len(a.waiting) >= waitingEach*a.most:
		return nil, busy("as many pushes as are taken at the same time are worked on, and more wait", time.Second)
	case !use.pushes.take(now):
		return nil, busy("more pushes a second than a credential may send", time.Second)
	}
	use.inFlight++
	if full {
		w := &waiter{make(chan struct{})}
		a.waiting = append(a.waiting, w)
		return w, nil
	}
	a.inFlight++
	return nil, nil
}

// room says how many may be worked on at the same time: fewer while the database
// lags.
func (a *admission) room(now time.Time) int {
	if a.durations.lagging(now, a.slow) {
		return max(1, a.most/laggingShare)
	}
	return a.most
}

// use gives the use of a credential. Credentials are few: each was believed.
func (a *admission) use(key string, now time.Time) *credentialUse {
	u := a.each[key]
	if u == nil {
		if len(a.each) >= usesKept {
			for k, u := range a.each {
				if u.inFlight == 0 {
					delete(a.each, k)
				}
			}
		}
		u = &credentialUse{pushes: bucket{perS: a.perS, most: a.burst, left: a.burst, at: now}}
		a.each[key] = u
	}
	return u
}

func (a *admission) leave(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.each[key].inFlight--
	a.inFlight--
	for room := a.room(a.now()); len(a.waiting) > 0 && a.inFlight < room; a.inFlight++ {
		close(a.waiting[0].granted)
		a.waiting = a.waiting[1:]
	}
}

// reserve takes more memory for a push that has some, until release. What a push
// needs alone there is always room for: its own bounds are others.
func (a *admission) reserve(has, more int64) *api.Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reserved > has && a.reserved+more > a.bytes {
		return busy("as many bytes as are taken at the same time are worked on", time.Second)
	}
	a.reserved += more
	return nil
}

func (a *admission) release(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserved -= bytes
}

// stored notes how long storing took, failed attempts included.
func (a *admission) stored(took time.Duration) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.durations.add(now, took)
}

// load gives what is worked on.
func (a *admission) load() (pushes int, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inFlight, a.reserved
}

// Bounds of what recent pushes say.
const (
	recentPushes = 64
	recentTime   = 30 * time.Second
	fewPushes    = 8 // of which 95 % says nothing
)

// durations are how long the last pushes took to store.
type durations struct {
	list [recentPushes]struct {
		at   time.Time
		took time.Duration
	}
	next    int
	judged  time.Time
	verdict bool
}

func (d *durations) add(now time.Time, took time.Duration) {
	d.list[d.next%recentPushes].at, d.list[d.next%recentPushes].took = now, took
	d.next = (d.next + 1) % recentPushes
}

// lagging says whether 5 % of the recent pushes took longer than the bound. It is
// judged anew once a second.
func (d *durations) lagging(now time.Time, bound time.Duration) bool {
	if now.Sub(d.judged).Abs() < time.Second {
		return d.verdict
	}
	recent := make([]time.Duration, 0, recentPushes)
	for _, p := range d.list {
		if !p.at.IsZero() && now.Sub(p.at) <= recentTime {
			recent = append(recent, p.took)
		}
	}
	d.judged, d.verdict = now, false
	if len(recent) >= fewPushes {
		slices.Sort(recent)
		d.verdict = recent[(len(recent)*95-1)/100] > bound
	}
	return d.verdict
}

// bucket gives out so many a second in the long run, and so many at once.
type bucket struct {
	perS, most float64
	left       float64
	at         time.Time
}

func (b *bucket) take(now time.Time) bool {
	if passed := now.Sub(b.at); !b.at.IsZero() && passed > 0 {
		b.left = min(b.most, b.left+passed.Seconds()*b.perS)
	}
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
