package receive

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// secretBytes is 256 bits.
const secretBytes = 32

// longestTokenID bounds the id of a token as it is sent.
const longestTokenID = 64

// Token is a new token: its text is shown once, to whoever configures the agent;
// ID and Hash are what the store keeps.
type Token struct {
	ID   string
	Text string // "id.secret"
	Hash [sha256.Size]byte
}

// NewToken makes a token of a random id and a secret of 256 bits.
func NewToken() Token {
	var id [8]byte
	var secret [secretBytes]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	_, _ = rand.Read(secret[:])
	t := Token{ID: hex.EncodeToString(id[:]), Hash: sha256.Sum256(secret[:])}
	t.Text = t.ID + "." + base64.RawURLEncoding.EncodeToString(secret[:])
	return t
}

// presented is a token as a request carries it: not yet believed.
type presented struct {
	id   string
	hash [sha256.Size]byte
}

// parseBearer reads an Authorization header.
func parseBearer(header string) (p presented, ok bool) {
	scheme, text, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return p, false
	}
	id, secret, found := strings.Cut(text, ".")
	if !found || id == "" || len(id) > longestTokenID || !plainID(id) || len(secret) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return p, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	if err != nil || len(raw) != secretBytes {
		return p, false
	}
	return presented{id, sha256.Sum256(raw)}, true
}

// plainID says whether an id is of letters, digits, - and _: no other is made.
func plainID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// matches compares in constant time.
func (p presented) matches(hash [sha256.Size]byte) bool {
	return subtle.ConstantTimeCompare(p.hash[:], hash[:]) == 1
}
