package receive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/store"
)

// The secret is 256 bits in base64url (RFC 4648, section 5), hashed by SHA-256.
func TestATokenIsAnIDAndASecretOf256Bits(t *testing.T) {
	t.Parallel()
	token, other := receive.NewToken(), receive.NewToken()
	id, secret, _ := strings.Cut(token.Text, ".")
	raw, err := base64.URLEncoding.DecodeString(secret + "=")
	if err != nil || len(raw) != 32 || id != token.ID || sha256.Sum256(raw) != token.Hash {
		t.Errorf("token %+v: %v", token, err)
	}
	if token.ID == other.ID || token.Hash == other.Hash {
		t.Error("two tokens are the same")
	}
}

func TestWhoIsNotKnownIsRefusedAndNothingOfTheSecretIsLogged(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	revoked := receive.NewToken()
	k.tokens[revoked.ID] = store.Token{ID: revoked.ID, Node: 1, Hash: revoked.Hash, RevokedAt: now}
	s := serve(t, k, receive.Options{})
	_, secret, _ := strings.Cut(token.Text, ".")
	_, otherSecret, _ := strings.Cut(revoked.Text, ".")
	body := marshal(t, sampled(1, 1, time.Now()))
	for _, c := range []struct {
		name, header string
		want         api.Code // "" taken
	}{
		{"the token", "Bearer " + token.Text, ""},
		{"another case of the scheme", "bearer " + token.Text, ""},
		{"no token", "", api.CodeUnauthorized},
		{"another scheme", "Basic " + token.Text, api.CodeUnauthorized},
		{"the id alone", "Bearer " + token.ID, api.CodeUnauthorized},
		{"no id", "Bearer ." + secret, api.CodeUnauthorized},
		{"an id that is none", "Bearer nobody." + secret, api.CodeUnauthorized},
		{"an id with a quote", "Bearer a'b." + secret, api.CodeUnauthorized},
		{"a long id", "Bearer " + strings.Repeat("a", 65) + "." + secret, api.CodeUnauthorized},
		{"another's secret", "Bearer " + token.ID + "." + otherSecret, api.CodeUnauthorized},
		{"a secret cut short", "Bearer " + token.Text[:len(token.Text)-1], api.CodeUnauthorized},
		{"a secret with more behind it", "Bearer " + token.Text + "A", api.CodeUnauthorized},
		{"a revoked token", "Bearer " + revoked.Text, api.CodeRevoked},
		{"a revoked token with a wrong secret", "Bearer " + revoked.ID + "." + secret, api.CodeUnauthorized},
	} {
		req := s.request("", body)
		if c.header != "" {
			req.Header.Set("Authorization", c.header)
		}
		_, refused := s.send(req)
		switch {
		case refused == nil && c.want != "", refused != nil && refused.Code != c.want:
			t.Errorf("%s: %v, want %q", c.name, refused, c.want)
		case refused != nil && strings.Contains(refused.Message, secret):
			t.Errorf("%s: the answer holds the secret", c.name)
		}
	}
	if k.pushes != 2 {
		t.Errorf("%d pushes came through, want 2", k.pushes)
	}
	if strings.Contains(s.log.String(), secret) || strings.Contains(s.log.String(), otherSecret) {
		t.Error("a secret is in the log")
	}
}

func TestARevokedTokenIsRefusedWithinHalfAMinuteAndALiveOneAskedForSeldom(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	clock := &clock{now: now}
	s := serve(t, k, receive.Options{Now: clock.Now})
	push := func(n uint64) *api.Error {
		_, refused := s.send(s.request(token.Text, marshal(t, sampled(1, n, now))))
		return refused
	}
	for n := range uint64(10) {
		if refused := push(n + 1); refused != nil {
			t.Fatal(refused)
		}
		clock.pass(time.Second)
	}
	if k.lookups != 1 || k.touched != 1 || k.noted != 1 {
		t.Errorf("10 pushes in 10 s: %d lookups, %d touches, %d notes, want 1 each", k.lookups, k.touched, k.noted)
	}
	revoked := k.tokens[token.ID]
	revoked.RevokedAt = now
	k.change(func(k *keeper) { k.tokens[token.ID] = revoked })
	clock.pass(20 * time.Second)
	if refused := push(11); refused == nil || refused.Code != api.CodeRevoked {
		t.Errorf("30 s after it was read a token that was revoked: %v", refused)
	}
	k.change(func(k *keeper) { k.away = errors.New("connection refused") })
	clock.pass(30 * time.Second)
	if refused := push(12); refused == nil || refused.Code != api.CodeUnavailable {
		t.Errorf("while the database is away: %v", refused)
	}
}

func TestAFloodOfUnknownTokensDoesNotReachTheDatabase(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	clock := &clock{now: now}
	r, err := receive.New(k, receive.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	push := func(token string) int {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, api.Path, bytes.NewReader(marshal(t, sampled(1, 1, now))))
		req.Header.Set("Content-Type", api.MediaType)
		req.Header.Set("Content-Encoding", api.ContentEncoding)
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		return w.Code
	}
	_, secret, _ := strings.Cut(token.Text, ".")
	if status := push(token.Text); status != 200 {
		t.Fatalf("status %d", status)
	}
	for range 100 { // of one id
		push("nobody." + secret)
	}
	if k.lookups != 2 {
		t.Errorf("100 requests of one id that is none: %d lookups, want 1", k.lookups-1)
	}
	counts := map[int]int{}
	for i := range 10_000 { // each of another
		counts[push(fmt.Sprintf("nobody%d.%s", i, secret))]++
	}
	if k.lookups > 2_001 || counts[401] != k.lookups-2 || counts[429] != 10_000-counts[401] {
		t.Errorf("10,000 ids that are none: %d lookups, answers %v", k.lookups, counts)
	}
	if status := push(token.Text); status != 200 {
		t.Errorf("a token that is known meanwhile: status %d", status)
	}
	clock.pass(25 * time.Second)
	if status := push(token.Text); status != 200 {
		t.Errorf("and when it is to be asked for again: status %d", status)
	}
}
