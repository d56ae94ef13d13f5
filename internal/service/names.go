package service

import (
	"context"
	"sync"

	"github.com/corewait/corewait/store"
)

// names knows nodes' names by their numbers, which never change.
type names struct {
	st   *store.Store
	turn chan struct{} // one asks the database at a time: who waits for it can give up

	mu    sync.Mutex
	known map[store.NodeID]string
}

func newNames(st *store.Store) *names { return &names{st: st, turn: make(chan struct{}, 1)} }

// name gives the name of a node. ErrNotFound where there is none of that number.
func (n *names) name(ctx context.Context, id store.NodeID) (string, error) {
	if name, ok := n.remembered(id); ok {
		return name, nil
	}
	select {
	case n.turn <- struct{}{}:
		defer func() { <-n.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if name, ok := n.remembered(id); ok { // who had the turn before has learnt it
		return name, nil
	}
	known, err := n.st.NodeNames(ctx)
	if err != nil {
		return "", err
	}
	n.mu.Lock()
	n.known = known
	n.mu.Unlock()
	if name, ok := known[id]; ok {
		return name, nil
	}
	return "", store.ErrNotFound
}

func (n *names) remembered(id store.NodeID) (name string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, ok = n.known[id]
	return name, ok
}
