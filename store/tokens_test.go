package store_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/store"
)

func TestTokensAreFoundByIDUntilAndAfterTheyAreRevoked(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	hash := sha256.Sum256([]byte("secret"))
	if err := d.CreateToken(t.Context(), "k1", node, hash); err != nil {
		t.Fatal(err)
	}
	got, err := d.Token(t.Context(), "k1")
	if err != nil || got.ID != "k1" || got.Node != node || got.Hash != hash || !got.RevokedAt.IsZero() || !got.LastUsedAt.IsZero() || got.CreatedAt.IsZero() {
		t.Errorf("token %+v: %v", got, err)
	}
	for name, id := range map[string]string{"unknown": "k2", "empty": "", "with a NUL": "k1\x00", "endless": strings.Repeat("k", 10_000), "no UTF-8": "\xff"} {
		if _, err := d.Token(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s id: %v, want ErrNotFound", name, err)
		}
	}
	for range 2 {
		if err := d.RevokeToken(t.Context(), "k1"); err != nil {
			t.Fatal(err)
		}
		revoked, err := d.Token(t.Context(), "k1")
		if err != nil || revoked.RevokedAt.IsZero() || (!got.RevokedAt.IsZero() && !got.RevokedAt.Equal(revoked.RevokedAt)) {
			t.Errorf("revoked %+v, then %+v: %v", got, revoked, err)
		}
		got = revoked
	}
	if err := d.RevokeToken(t.Context(), "k2"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoked an unknown token: %v", err)
	}
	if err := d.CreateToken(t.Context(), "k1", node, sha256.Sum256([]byte("another"))); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the id of a revoked token was given again: %v", err)
	}
	if err := d.CreateToken(t.Context(), "", node, hash); err == nil {
		t.Error("a token without an id was made")
	}
}

// TestTokensAreTouchedAtMostOnceAMinute: by the database's clock, which the test
// sets back by hand.
func TestTokensAreTouchedAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	if err := d.CreateToken(t.Context(), "k1", d.node("db1"), sha256.Sum256([]byte("secret"))); err != nil {
		t.Fatal(err)
	}
	token := func() store.Token {
		t.Helper()
		got, err := d.Token(t.Context(), "k1")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	touch := func(of store.Token) time.Time {
		t.Helper()
		if err := d.TouchToken(t.Context(), of); err != nil {
			t.Fatal(err)
		}
		return token().LastUsedAt
	}
	fresh := token()
	first := touch(fresh)
	if first.IsZero() || !fresh.TouchDue {
		t.Fatalf("never used: due %v, touched at %v", fresh.TouchDue, first)
	}
	if now := token(); now.TouchDue || !touch(now).Equal(first) {
		t.Errorf("touched again within the minute: %+v", now)
	}
	if !touch(fresh).Equal(first) {
		t.Error("touched again within the minute by who had read it before")
	}
	d.exec(`UPDATE tokens SET last_used_at = now() - interval '61 s'`)
	if now := token(); !now.TouchDue || !touch(now).After(first.Add(-time.Second)) {
		t.Errorf("not touched after a minute: %+v", now)
	}
}
