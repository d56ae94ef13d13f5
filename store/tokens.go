package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Token is an agent's credential, as far as the database knows it: the SHA-256
// of its secret, which is looked up by the token's id and compared in constant
// time by who receives it.
type Token struct {
	ID         string
	Node       NodeID
	Hash       [sha256.Size]byte
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never; to a minute
	RevokedAt  time.Time // zero: valid
	// TouchDue says that LastUsedAt is over a minute old, or never was.
	TouchDue bool
}

//nolint:gosec // names of columns
const tokenColumns = `token_id, node_id, hash, created_at, last_used_at, revoked_at,
	coalesce(last_used_at < now() - interval '1 minute', true)`

func scanToken(row pgx.CollectableRow) (Token, error) {
	var t Token
	var hash []byte
	var used, revoked *time.Time
	err := row.Scan(&t.ID, &t.Node, &hash, &t.CreatedAt, &used, &revoked, &t.TouchDue)
	if err == nil && len(hash) != sha256.Size {
		err = fmt.Errorf("token %s: a hash of %d bytes", t.ID, len(hash))
	}
	copy(t.Hash[:], hash)
	t.CreatedAt, t.LastUsedAt, t.RevokedAt = t.CreatedAt.UTC(), utcOrZero(used), utcOrZero(revoked)
	return t, err
}

// CreateToken makes a token of a node. The id is new: one that exists, revoked or
// not, is refused.
func (s *Store) CreateToken(ctx context.Context, id string, node NodeID, hash [sha256.Size]byte) error {
	if id == "" || storable(id, longestName) != id {
		return fmt.Errorf("create token: id %.40q: want text of at most %d bytes", id, longestName)
	}
	return s.step(ctx, "create token", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `INSERT INTO tokens (token_id, node_id, hash) VALUES ($1, $2, $3)`, id, node, hash[:])
		if hasState(err, stateUniqueViolation) {
			return fmt.Errorf("%s exists already", id)
		}
		return err
	})
}

// Token gives the token of that id, also a revoked one: RevokedAt tells.
// ErrNotFound where there is none.
func (s *Store) Token(ctx context.Context, id string) (t Token, err error) {
	if storable(id, longestName) != id { // anybody may send one
		return t, &OperationError{Operation: "read token", Err: ErrNotFound}
	}
	err = s.step(ctx, "read token", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT `+tokenColumns+` FROM tokens WHERE token_id = $1`, id)
		if err != nil {
			return err
		}
		t, err = pgx.CollectExactlyOneRow(rows, scanToken)
		return notFound(err)
	})
	return t, err
}

// TouchToken notes that a token was used now. It writes at most once a minute,
// and asks the database only if the token, as it was read, is due.
func (s *Store) TouchToken(ctx context.Context, t Token) error {
	if !t.TouchDue {
		return nil
	}
	return s.step(ctx, "touch token", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `UPDATE tokens SET last_used_at = now()
			WHERE token_id = $1 AND coalesce(last_used_at < now() - interval '1 minute', true)`, t.ID)
		return err
	})
}

// RevokeToken ends a token for good. ErrNotFound where there is none; one that
// was revoked keeps the time of it.
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	return s.step(ctx, "revoke token", func(ctx context.Context) error {
		return oneRow(s.pool.Exec(ctx, `UPDATE tokens SET revoked_at = coalesce(revoked_at, now()) WHERE token_id = $1`, storable(id, longestName)))
	})
}

// Tokens lists all tokens by id, without their hashes.
func (s *Store) Tokens(ctx context.Context, p Page) (tokens []Token, next Cursor, err error) {
	const list = "tokens"
	var after string
	if _, err := p.After.read(list, &after); err != nil {
		return nil, "", err
	}
	err = s.step(ctx, "list tokens", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT `+tokenColumns+` FROM tokens WHERE token_id > $1 ORDER BY token_id LIMIT $2`,
			storable(after, longestName), p.limit()+1)
		if err != nil {
			return err
		}
		tokens, next, err = collectPage(rows, p.limit(), scanToken, func(t *Token) Cursor { return newCursor(list, t.ID) })
		for i := range tokens {
			tokens[i].Hash = [sha256.Size]byte{}
		}
		return err
	})
	return tokens, next, err
}
