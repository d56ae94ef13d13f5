package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrLeaseLost says that a lease has expired or is somebody else's. What was
// begun under it must stop.
var ErrLeaseLost = errors.New("lease lost")

// ErrWatermarkPassed says that a watermark stands later already: it never goes
// back, or rows would be counted as new again.
var ErrWatermarkPassed = errors.New("watermark is later already")

// Lease is the right of one process to do what the name says until it expires,
// by the database's clock. Holder names a process, not a machine: two that give
// the same share the lease.
type Lease struct {
	Name, Holder string
	ExpiresAt    time.Time
}

// processLease begins the names of the leases by which processes show that they
// live.
const processLease = "process/"

// ProcessLease names the lease that a process holds for as long as it lives.
// What it began and did not finish may be taken over by others once that has
// expired.
func ProcessLease(holder string) string { return processLease + holder }

// DeleteDeadProcesses deletes the leases of processes that have expired for
// longer than that.
func (s *Store) DeleteDeadProcesses(ctx context.Context, longer time.Duration) error {
	return s.step(ctx, "delete leases of dead processes", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `DELETE FROM leases WHERE starts_with(name, $1) AND expires_at < clock_timestamp() - $2::interval`,
			processLease, longer)
		return err
	})
}

// AcquireLease takes the lease where it is free, expired or the holder's own.
func (s *Store) AcquireLease(ctx context.Context, name, holder string, length time.Duration) (lease Lease, acquired bool, err error) {
	lease = Lease{Name: storable(name, longestName), Holder: storable(holder, longestName)}
	err = s.step(ctx, "acquire lease "+lease.Name, func(ctx context.Context) error {
		// clock_timestamp, not now: the statement may have waited for another's.
		err := s.pool.QueryRow(ctx, `
			INSERT INTO leases AS l (name, holder, expires_at) VALUES ($1, $2, clock_timestamp() + $3::interval)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = clock_timestamp() + $3::interval
			WHERE l.holder = excluded.holder OR l.expires_at <= clock_timestamp()
			RETURNING expires_at`, lease.Name, lease.Holder, length).Scan(&lease.ExpiresAt)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		acquired = err == nil
		return err
	})
	if !acquired {
		return Lease{}, false, err
	}
	lease.ExpiresAt = lease.ExpiresAt.UTC()
	return lease, true, nil
}

// RenewLease makes a lease that is still held last for length from now.
// ErrLeaseLost: it is not held any more.
func (s *Store) RenewLease(ctx context.Context, lease Lease, length time.Duration) (Lease, error) {
	err := s.step(ctx, "renew lease "+lease.Name, func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, `
			UPDATE leases SET expires_at = clock_timestamp() + $3::interval
			WHERE name = $1 AND holder = $2 AND expires_at > clock_timestamp()
			RETURNING expires_at`, lease.Name, lease.Holder, length).Scan(&lease.ExpiresAt)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrLeaseLost
		}
		return err
	})
	lease.ExpiresAt = lease.ExpiresAt.UTC()
	return lease, err
}

// ReleaseLease gives a lease back. One that was lost stays as it is.
func (s *Store) ReleaseLease(ctx context.Context, lease Lease) error {
	return s.step(ctx, "release lease "+lease.Name, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, lease.Name, lease.Holder)
		return err
	})
}

// MoveWatermark notes how far a source of an instance was read, under a lease
// that is checked in the same transaction: ErrLeaseLost if it is not held any
// more. ErrWatermarkPassed if the watermark is later than at.
func (s *Store) MoveWatermark(ctx context.Context, lease Lease, node NodeID, instID int, source string, at time.Time) error {
	return s.inTx(ctx, "move watermark of "+source, func(ctx context.Context, tx pgx.Tx) error {
		// The lock on its row keeps the lease from changing hands before the commit.
		held, err := tx.Exec(ctx, `SELECT FROM leases WHERE name = $1 AND holder = $2 AND expires_at > clock_timestamp() FOR SHARE`,
			lease.Name, lease.Holder)
		if err != nil {
			return err
		}
		if held.RowsAffected() == 0 {
			return ErrLeaseLost
		}
		moved, err := tx.Exec(ctx, `
			INSERT INTO watermarks AS w (node_id, inst_id, source, at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (node_id, inst_id, source) DO UPDATE SET at = excluded.at, updated_at = now() WHERE w.at <= excluded.at`,
			node, instID, storable(source, longestName), at)
		if err == nil && moved.RowsAffected() == 0 {
			return fmt.Errorf("%s: %w", at.UTC().Format(time.RFC3339Nano), ErrWatermarkPassed)
		}
		return err
	})
}

// Watermark gives how far a source of an instance was read; found is false
// where it never was.
func (s *Store) Watermark(ctx context.Context, node NodeID, instID int, source string) (at time.Time, found bool, err error) {
	err = s.step(ctx, "read watermark of "+source, func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, `SELECT at FROM watermarks WHERE node_id = $1 AND inst_id = $2 AND source = $3`,
			node, instID, storable(source, longestName)).Scan(&at)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		found = err == nil
		return err
	})
	return at.UTC(), found, err
}
