package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewait/corewait/store"
)

// expire lets a lease expire, by the database's clock.
func (d *database) expire(lease store.Lease) {
	d.t.Helper()
	d.exec(`UPDATE leases SET expires_at = clock_timestamp() - interval '1 microsecond' WHERE name = $1`, lease.Name)
}

func (d *database) acquire(name, holder string) store.Lease {
	d.t.Helper()
	lease, acquired, err := d.AcquireLease(d.t.Context(), name, holder, time.Hour)
	if err != nil || !acquired {
		d.t.Fatalf("%s acquires %s: %v: %v", holder, name, acquired, err)
	}
	return lease
}

func TestLeaseIsHeldByOneUntilItExpires(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	first := d.acquire("pull ORDP1", "a")
	if _, acquired, err := d.AcquireLease(t.Context(), "pull ORDP1", "b", time.Hour); err != nil || acquired {
		t.Errorf("b got a's lease: %v: %v", acquired, err)
	}
	d.acquire("pull ORDP2", "b") // another lease is another matter
	renewed, err := d.RenewLease(t.Context(), first, 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if longer := renewed.ExpiresAt.Sub(first.ExpiresAt); longer < time.Hour || longer > time.Hour+time.Minute {
		t.Errorf("renewed for %v longer, want an hour", longer)
	}
	d.acquire("pull ORDP1", "a") // its own again

	d.expire(first)
	if _, err := d.RenewLease(t.Context(), first, time.Hour); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("an expired lease was renewed: %v", err)
	}
	d.acquire("pull ORDP1", "b")
	if err := d.ReleaseLease(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if _, acquired, err := d.AcquireLease(t.Context(), "pull ORDP1", "c", time.Hour); err != nil || acquired {
		t.Errorf("a released b's lease: %v: %v", acquired, err)
	}
}

func TestOneOfAHundredGetsTheExpiredLease(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.expire(d.acquire("pull ORDP1", "dead"))
	var won atomic.Int32
	atOnce(100, func(i int) {
		_, acquired, err := d.AcquireLease(t.Context(), "pull ORDP1", fmt.Sprint(i), time.Hour)
		if err != nil {
			t.Error(err)
		}
		if acquired {
			won.Add(1)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d got it, want 1", won.Load())
	}
}

func TestExpiredLeaseCannotMoveAWatermark(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	at := utc(t, "2026-11-30 12:00:00")
	move := func(lease store.Lease, minutes int) error {
		return d.MoveWatermark(t.Context(), lease, node, 1, "ash", at.Add(time.Duration(minutes)*time.Minute))
	}
	want := func(minutes int) {
		t.Helper()
		got, found, err := d.Watermark(t.Context(), node, 1, "ash")
		if err != nil || !found || !got.Equal(at.Add(time.Duration(minutes)*time.Minute)) {
			t.Errorf("watermark %v, %v: %v; want %d minutes", got, found, err, minutes)
		}
	}
	if _, found, err := d.Watermark(t.Context(), node, 1, "ash"); err != nil || found {
		t.Errorf("a watermark before there is one: %v: %v", found, err)
	}
	first := d.acquire("pull ORDP1", "a")
	if err := move(first, 1); err != nil {
		t.Fatal(err)
	}
	want(1)
	d.expire(first)
	if err := move(first, 2); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("moved under an expired lease: %v", err)
	}
	second := d.acquire("pull ORDP1", "b")
	if err := move(first, 2); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("moved under another's lease: %v", err)
	}
	want(1)
	if err := errors.Join(move(second, 3), move(second, 3)); err != nil {
		t.Fatal(err)
	}
	if err := move(second, 2); !errors.Is(err, store.ErrWatermarkPassed) {
		t.Errorf("moved back: %v", err)
	}
	want(3)
	if err := d.ReleaseLease(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if err := move(second, 4); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("moved under a lease given back: %v", err)
	}
	want(3)
}

func TestLeasesOfDeadProcessesAreForgottenAndNoOthers(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	for name, expired := range map[string]string{
		"process/dead": "25 hours", "process/dying": "23 hours", "process/living": "-1 hours", "pull ORDP1": "25 hours", "processes/dead": "25 hours",
	} {
		d.exec(`INSERT INTO leases (name, holder, expires_at) VALUES ($1, 'a', clock_timestamp() - $2::interval)`, name, expired)
	}
	if err := d.DeleteDeadProcesses(t.Context(), 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	d.wantLines([]string{"process/dying", "process/living", "processes/dead", "pull ORDP1"}, `SELECT name FROM leases ORDER BY name COLLATE "C"`)
}

// TestLeaseDoesNotChangeHandsWithinTheMove: while the transaction that moves a
// watermark is open, an expired lease waits to be taken over. The move is held
// up by a lock on its row.
func TestLeaseDoesNotChangeHandsWithinTheMove(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	at := utc(t, "2026-11-30 12:00:00")
	lease := d.acquire("pull ORDP1", "a")
	if err := d.MoveWatermark(t.Context(), lease, node, 1, "ash", at); err != nil {
		t.Fatal(err)
	}
	hold, err := d.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := hold.Exec(t.Context(), `SELECT FROM watermarks FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	moved := make(chan error, 1)
	go func() { moved <- d.MoveWatermark(t.Context(), lease, node, 1, "ash", at.Add(time.Minute)) }()
	d.waitFor(`SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%watermarks%'`)

	// Anybody who takes the lease over updates its row: that is locked now.
	taken, err := d.Pool().Exec(t.Context(), `SELECT FROM leases WHERE name = $1 FOR UPDATE SKIP LOCKED`, lease.Name)
	if err != nil || taken.RowsAffected() != 0 {
		t.Errorf("%d rows of the lease could be taken: %v", taken.RowsAffected(), err)
	}
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-moved; err != nil {
		t.Error(err)
	}
}

// waitFor polls a condition for a minute.
func (d *database) waitFor(condition string) {
	d.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var holds bool
		if err := d.Pool().QueryRow(d.t.Context(), condition).Scan(&holds); err != nil {
			d.t.Fatal(err)
		}
		if holds {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("not so within a minute: %s", condition)
		}
	}
}
