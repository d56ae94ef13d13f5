package store

import (
	"runtime"
	"slices"
)

// WaitForWriters waits until all writers of groups are busy.
func WaitForWriters(s *Store) {
	for busy := false; !busy; runtime.Gosched() {
		s.groups.mu.Lock()
		busy = s.groups.writing == groupWriters
		s.groups.mu.Unlock()
	}
}

// WaitForQueued waits until a push of the node is queued.
func WaitForQueued(s *Store, node NodeID) {
	for queued := false; !queued; runtime.Gosched() {
		s.groups.mu.Lock()
		queued = slices.ContainsFunc(s.groups.queue, func(p *queuedPush) bool { return p.to.node == node })
		s.groups.mu.Unlock()
	}
}
