package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewait/corewait/store"
)

// Many nodes push at once; each push is sent twice, and two spools of one node
// tell the same.
func TestManyPushesAtOnceAreEachStoredOnce(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	const nodes, pushes = 24, 5
	at := today()
	var stored atomic.Int64
	var all sync.WaitGroup
	for n := range nodes {
		node := d.node(fmt.Sprint("db", n))
		for k := range pushes {
			b := gather(t, interrupts(at.Add(time.Duration(k)*10*time.Second), 10))
			for range 2 {
				all.Go(func() {
					ok, err := d.Push(t.Context(), node, store.Receipt{Spool: [16]byte{1}, Sequence: int64(k)}, b)
					if err != nil {
						t.Error(err)
					}
					if ok {
						stored.Add(1)
					}
				})
			}
		}
	}
	twin := d.node("twin")
	for spool := range 4 {
		b := gather(t, interrupts(at.Add(time.Duration(spool)*5*time.Second), 10))
		all.Go(func() {
			if ok, err := d.Push(t.Context(), twin, store.Receipt{Spool: [16]byte{byte(spool)}}, b); err != nil || !ok {
				t.Error(ok, err)
			}
		})
	}
	all.Wait()
	if n := stored.Load(); n != nodes*pushes {
		t.Errorf("%d pushes were stored, want %d", n, nodes*pushes)
	}
	// By hand: 5 runs of 10 s of each node; of the twin 10 s from 0 s and from 10 s on,
	// the 5 s from 5 s, 15 s and 20 s on, and not those from 10 s on, which are in the
	// longer run.
	d.wantLines([]string{"24 5 50", "1 5 35"}, `SELECT count(*) || ' ' || n || ' ' || seconds FROM (SELECT node_id, count(*) AS n, sum(length_us / 1000000) AS seconds
		FROM interrupt_samples GROUP BY 1) AS of GROUP BY n, seconds ORDER BY seconds DESC`)
	d.wantLines([]string{"124"}, `SELECT count(*)::text FROM receipts`)
}

// While a lock holds the writers up, pushes wait in the queue: one of them gives
// up, the others are stored when the lock is gone.
func TestAPushThatIsGivenUpIsNotStored(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	at := today()
	node := d.node("db")
	d.push(node, receipt(1), gather(t, interrupts(at, 1))) // makes the partition
	tx, err := d.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tx.Exec(t.Context(), `LOCK TABLE receipts`); err != nil {
		t.Fatal(err)
	}
	const others = 8 // more than are written at the same time
	var all sync.WaitGroup
	for i := range others {
		of := d.node(fmt.Sprint("other", i))
		b := gather(t, interrupts(at, 2))
		all.Go(func() {
			if ok, err := d.Push(t.Context(), of, receipt(1), b); err != nil || !ok {
				t.Error(ok, err)
			}
		})
	}
	store.WaitForWriters(d.Store)
	ctx, cancel := context.WithCancel(t.Context())
	given := gather(t, interrupts(at.Add(time.Hour), 3))
	gone := make(chan error)
	go func() {
		_, err := d.Push(ctx, node, receipt(2), given)
		gone <- err
	}()
	store.WaitForQueued(d.Store, node)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) { // while the others still wait
		t.Error("a push that was given up: ", err)
	}
	if err = tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if n := d.count("interrupt_samples"); n != 1+others {
		t.Errorf("%d rows, want %d", n, 1+others)
	}
}
