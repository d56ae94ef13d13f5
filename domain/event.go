package domain

import "time"

// Kinds of a NodeEvent.
const (
	EventBondFailover = "bond-failover" // the active slave of a bond changed
	EventWatchStarted = "watch-started" // a watched process was found
	EventWatchEnded   = "watch-ended"   // and is gone
	EventClockStep    = "clock-step"    // the node's clock was set, or differs from the service's
	EventSpools       = "two-spools"    // two agents push for one node
)

// NodeEvent is something that happened to a node at an instant.
type NodeEvent struct {
	At      time.Time
	Kind    string
	Subject string // what it happened to: a bond, a process
	Detail  string // for people
}
