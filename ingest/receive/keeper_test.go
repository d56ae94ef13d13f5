package receive_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/store"
)

// keeper stands in for a store where a test needs one that fails, waits or counts.
type keeper struct {
	mu      sync.Mutex
	tokens  map[string]store.Token
	lookups int
	pushes  int
	touched int
	noted   int
	away    error                       // of lookups
	push    func(context.Context) error // of pushes; nil stores
}

func (k *keeper) Token(_ context.Context, id string) (store.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lookups++
	if k.away != nil {
		return store.Token{}, k.away
	}
	t, ok := k.tokens[id]
	if !ok {
		return t, fmt.Errorf("read token: %w", store.ErrNotFound)
	}
	return t, nil
}

func (k *keeper) TouchToken(context.Context, store.Token) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.touched++
	return nil
}

func (k *keeper) Push(ctx context.Context, _ store.NodeID, _ store.Receipt, _ *store.Batch) (bool, error) {
	k.mu.Lock()
	k.pushes++
	push := k.push
	k.mu.Unlock()
	if push != nil {
		return false, push(ctx)
	}
	return true, nil
}

func (k *keeper) NoteAgent(context.Context, store.AgentState) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noted++
	return nil
}

func (k *keeper) Ping(context.Context) error { return nil }

// change changes the keeper while requests run.
func (k *keeper) change(do func(*keeper)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do(k)
}

// newKeeper makes a keeper that knows one token.
func newKeeper() (*keeper, receive.Token) {
	t := receive.NewToken()
	return &keeper{tokens: map[string]store.Token{t.ID: {ID: t.ID, Node: 1, Hash: t.Hash, TouchDue: true}}}, t
}

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
