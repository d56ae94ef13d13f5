package refcase

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
)

// sessions is how many foreground sessions the instance has.
const sessions = 600

// Session ids of the background processes that ASH shows, and the first of a
// client.
const (
	lgwrSession  = 5
	nssSession   = 9
	firstSession = 20
)

// Events beside those that domain names.
const (
	eventLogSwitch  = "log file switch completion"
	eventSequential = "db file sequential read"
)

// longWait is one session's wait through a stall, or a slow wait of its own.
type longWait struct {
	begin, end float64 // seconds since the start
	event      string
	session    bool // session-only: LGWR was not delayed
	wait       domain.Wait
}

// hold makes the waits that an instance's stalls caused, and the slow waits
// that single sessions had of their own.
func (w *world) hold(in *instance, salt uint64) {
	r := stream(w.Seed, streamHerds+salt)
	for _, st := range in.stalls {
		in.waits = append(in.waits, w.herdOf(r, in, st)...)
		if lw := w.backgroundWait(r, in, st); lw != nil {
			in.waits = append(in.waits, lw)
		}
	}
	for range poisson(r, w.Stalls.SessionOnly*w.Hours) {
		begin := r.Float64() * w.length
		in.waits = append(in.waits, &longWait{
			begin: begin, end: begin + logBetween(r, 0.1, 0.6), event: domain.EventLogFileSync, session: true,
			wait: foreground(r, in, r.IntN(sessions)),
		})
	}
	slices.SortStableFunc(in.waits, func(a, b *longWait) int { return cmp.Compare(a.begin, b.begin) })
}

// herdOf is the sessions that committed into a stall. Most arrive in its first
// milliseconds, and are posted one after the other when it is over.
func (w *world) herdOf(r *rand.Rand, in *instance, st stall) []*longWait {
	n := intBetween(r, w.Stalls.WaitersMin, w.Stalls.WaitersMax)
	first, list := r.IntN(sessions), make([]*longWait, 0, n)
	for i := range n {
		lw := &longWait{
			begin: st.at + min(0.012*r.ExpFloat64(), 0.5*st.length) - 0.002*r.Float64(),
			end:   st.end() + 0.001*float64(i)*r.Float64(),
			event: domain.EventLogFileSync,
			wait:  foreground(r, in, (first+7*i)%sessions), // 7 and sessions share no divisor: all differ
		}
		if st.cause == domain.CauseLogSwitch && r.Float64() < 0.6 {
			lw.event = eventLogSwitch
		}
		list = append(list, lw)
	}
	return list
}

// backgroundWait is what a background process was waiting for during a stall,
// or nil where the cause shows in none.
func (w *world) backgroundWait(r *rand.Rand, in *instance, st stall) *longWait {
	lw := &longWait{begin: st.at + 0.001*r.Float64(), end: st.end() - 0.002*r.Float64()}
	session, program := lgwrSession, "LGWR"
	switch st.cause {
	case domain.CauseStorage:
		lw.event = domain.EventLogFileParallelWrite
	case domain.CauseInterrupts:
		if !w.Stalls.InflatedWrite {
			return nil
		}
		lw.event = domain.EventLogFileParallelWrite
	case domain.CauseRACAck:
		lw.event = domain.EventWaitForSCNAck
	case domain.CauseDataGuard:
		lw.event = domain.EventSYNCRemoteWrite
		session, program = nssSession, "NSS2"
	default:
		return nil
	}
	lw.wait = w.background(in, session, program)
	return lw
}

// foreground is a client's session; the same number is always the same one.
func foreground(r *rand.Rand, in *instance, number int) domain.Wait {
	wait := domain.Wait{
		InstID: in.id, SessionID: firstSession + number, Serial: 1001 + number*37%4999, Waiting: true, Period: time.Second,
		Program: "JDBC Thin Client", Module: "order-entry", Machine: "app" + string(rune('1'+number%4)),
		P1: int64(100 + r.IntN(4000)), P2: 40_000_000 + int64(r.IntN(9_000_000)),
	}
	if r.Float64() < 0.1 {
		wait.SQLID = sqlID(number % 12)
	}
	return wait
}

// background is a background process's session.
func (w *world) background(in *instance, session int, process string) domain.Wait {
	return domain.Wait{
		InstID: in.id, SessionID: session, Serial: 1, Background: true, Waiting: true, Period: time.Second,
		Program: "oracle@" + w.Node + " (" + process + ")", Machine: w.Node,
		P1: 2, P2: 8, P3: 2,
	}
}
