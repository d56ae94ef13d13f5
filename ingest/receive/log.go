package receive

import (
	"log/slog"
	"sync"
	"time"

	"github.com/corewait/corewait/store"
)

// Bounds of what is logged.
const (
	logEvery  = time.Minute // one line of a kind for each node
	loggedMax = 10_000      // kinds and nodes that are remembered
)

// limitedLog logs what may happen with every push: a line of a kind for each node
// once a minute, with how many were left out. It never sees a secret.
type limitedLog struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	last map[logged]*logState
}

type logged struct {
	message string
	node    store.NodeID
}

type logState struct {
	at      time.Time
	leftOut int
}

func newLimitedLog(log *slog.Logger, now func() time.Time) *limitedLog {
	return &limitedLog{log: log, now: now, last: map[logged]*logState{}}
}

// warn logs a warning about a node; 0 is none.
func (l *limitedLog) warn(message string, node store.NodeID, args ...any) {
	leftOut, due := l.due(logged{message, node})
	if !due {
		return
	}
	if node != 0 {
		args = append(args, "node_id", int(node))
	}
	if leftOut > 0 {
		args = append(args, "left_out", leftOut)
	}
	l.log.Warn(message, args...)
}

func (l *limitedLog) due(k logged) (leftOut int, due bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.last[k]
	if s == nil {
		if len(l.last) >= loggedMax {
			clear(l.last)
		}
		l.last[k] = &logState{at: now}
		return 0, true
	}
	if now.Sub(s.at) < logEvery {
		s.leftOut++
		return 0, false
	}
	leftOut = s.leftOut
	*s = logState{at: now}
	return leftOut, true
}
