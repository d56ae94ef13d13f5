package receive

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/corewait/corewait/store"
)

// Times and bounds of what is remembered of agents.
const (
	noteEvery    = 30 * time.Second // an agent's state is written
	spoolsLive   = 10 * time.Minute // two spools that pushed by turns within it are two agents
	spoolsKept   = 4                // of a node
	warnSpools   = time.Hour        // as an event
	namesKept    = 10 * time.Minute
	namesMost    = 20_000
	notePatience = 2 * time.Second
)

// agents remembers who pushed for each node.
type agents struct {
	mu    sync.Mutex
	nodes map[store.NodeID]*nodeAgents
}

type nodeAgents struct {
	spools []*agentSpool // the one that pushed last is the last
	told   time.Time     // that there are two
}

// agentSpool is one spool of a node.
type agentSpool struct {
	id     [16]byte
	pushed time.Time
	noted  store.AgentState // as it was written last
	wrote  bool
}

// twoSpools is what is found where two agents push for one node.
type twoSpools struct {
	other [16]byte
	event bool // it is to be told as an event
}

// pushed notes a push, and gives the other spool where two push by turns. A spool that takes another's place, as after a new installation, does not.
func (a *agents) pushed(node store.NodeID, id [16]byte, now time.Time) *twoSpools {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.node(node)
	i := n.index(id)
	if i < 0 {
		n.spools = append(n.spools, &agentSpool{id: id, pushed: now})
		if len(n.spools) > spoolsKept {
			n.spools = n.spools[1:]
		}
		return nil
	}
	spool, last := n.spools[i], n.spools[len(n.spools)-1]
	turns := last != spool && now.Sub(spool.pushed) < spoolsLive
	spool.pushed = now
	n.spools = append(append(n.spools[:i:i], n.spools[i+1:]...), spool)
	if !turns {
		return nil
	}
	return &twoSpools{other: last.id, event: n.told.IsZero() || now.Sub(n.told) >= warnSpools}
}

// tell notes that it was told that there are two.
func (a *agents) tell(node store.NodeID, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node(node).told = now
}

func (a *agents) node(node store.NodeID) *nodeAgents {
	n := a.nodes[node]
	if n == nil {
		if a.nodes == nil {
			a.nodes = map[store.NodeID]*nodeAgents{}
		}
		n = &nodeAgents{}
		a.nodes[node] = n
	}
	return n
}

func (n *nodeAgents) index(id [16]byte) int {
	for i, s := range n.spools {
		if bytes.Equal(s.id[:], id[:]) {
			return i
		}
	}
	return -1
}

// due says whether an agent's state is to be written: every now and then, and when
// more than its sequence and times changed.
func (a *agents) due(s *store.AgentState) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.node(s.Node)
	i := n.index(s.Spool)
	if i < 0 {
		return true
	}
	known := n.spools[i]
	w := &known.noted
	if known.wrote && s.SeenAt.Sub(w.SeenAt) < noteEvery && w.BootID == s.BootID && w.Version == s.Version && w.Hostname == s.Hostname && w.Retimed == s.Retimed {
		return false
	}
	known.noted, known.wrote = *s, true
	return true
}

// note writes an agent's state down. The batch is stored: what fails here is told
// by the log alone.
func (r *Receiver) note(ctx context.Context, s store.AgentState, c *credential) {
	ctx, cancel := context.WithTimeout(ctx, notePatience)
	defer cancel()
	if r.agents.due(&s) {
		if err := r.keeper.NoteAgent(ctx, s); err != nil {
			r.log.warn("state of an agent cannot be written", s.Node, "error", err)
		}
	}
	if c.token != nil && c.token.TouchDue {
		r.tokens.touched(c.token.ID)
		if err := r.keeper.TouchToken(ctx, *c.token); err != nil {
			r.log.warn("use of a token cannot be written", s.Node, "error", err)
		}
	}
}

// nodeNames remembers what nodes are called.
type nodeNames struct {
	mu    sync.Mutex
	known map[store.NodeID]nodeName
}

type nodeName struct {
	name string
	read time.Time
}

// nameOf gives a node's name; "" where it is not known.
func (r *Receiver) nameOf(ctx context.Context, node store.NodeID) string {
	if r.options.NameOfNode == nil {
		return ""
	}
	now := r.options.Now()
	r.names.mu.Lock()
	k, ok := r.names.known[node]
	r.names.mu.Unlock()
	if ok && now.Sub(k.read) < namesKept {
		return k.name
	}
	ctx, cancel := context.WithTimeout(ctx, notePatience)
	defer cancel()
	name, err := r.options.NameOfNode(ctx, node)
	if err != nil {
		r.log.warn("name of a node cannot be read", node, "error", err)
		return ""
	}
	r.names.mu.Lock()
	defer r.names.mu.Unlock()
	if r.names.known == nil || len(r.names.known) >= namesMost {
		r.names.known = map[store.NodeID]nodeName{}
	}
	r.names.known[node] = nodeName{name, now}
	return name
}
