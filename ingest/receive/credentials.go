package receive

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/store"
)

// credential is who pushes: the node is the credential's, whatever a batch says.
type credential struct {
	key   string // of what is counted for each credential
	node  store.NodeID
	token *store.Token // nil: a certificate
}

// Answers to who may not push. They do not tell an unknown token from a wrong
// secret.
var (
	errNoCredential = &api.Error{Code: api.CodeUnauthorized, Message: "want Authorization: Bearer with the token of a node, or a client certificate"}
	errUnauthorized = &api.Error{Code: api.CodeUnauthorized, Message: "the token or certificate is not known"}
	errRevoked      = &api.Error{Code: api.CodeRevoked, Message: "the token was revoked"}
)

// authenticate tells whose request it is. A token decides where there is one.
func (r *Receiver) authenticate(req *http.Request) (credential, *api.Error) {
	if header := req.Header.Get("Authorization"); header != "" {
		return r.authenticateToken(req.Context(), header)
	}
	if req.TLS != nil && len(req.TLS.VerifiedChains) > 0 && r.options.NodeOfCertificate != nil {
		return r.authenticateCertificate(req.Context(), req.TLS.PeerCertificates[0])
	}
	return credential{}, errNoCredential
}

func (r *Receiver) authenticateToken(ctx context.Context, header string) (credential, *api.Error) {
	p, ok := parseBearer(header)
	if !ok {
		return credential{}, errNoCredential
	}
	t, err := r.tokens.find(ctx, p.id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return credential{}, errUnauthorized
	case errors.Is(err, errManyLookups):
		return credential{}, busy("too many unknown tokens are tried", time.Second)
	case err != nil:
		r.log.warn("token cannot be looked up", 0, "error", err)
		return credential{}, errAway()
	case !p.matches(t.Hash):
		return credential{}, errUnauthorized
	case !t.RevokedAt.IsZero():
		return credential{}, errRevoked
	}
	return credential{key: "token " + t.ID, node: t.Node, token: &t}, nil
}

func (r *Receiver) authenticateCertificate(ctx context.Context, c *x509.Certificate) (credential, *api.Error) {
	if r.options.Now().After(c.NotAfter) { // a connection may outlive it
		return credential{}, errUnauthorized
	}
	node, err := r.certificates.find(ctx, c)
	if errors.Is(err, store.ErrNotFound) {
		return credential{}, errUnauthorized
	}
	if err != nil {
		r.log.warn("node of a certificate cannot be looked up", 0, "name", c.Subject.CommonName, "error", err)
		return credential{}, errAway()
	}
	return credential{key: "certificate " + c.Subject.CommonName, node: node}, nil
}

// Bounds of what is remembered of tokens, and of the questions about those never
// heard of: all agents of a large site at once, then some each second.
const (
	rememberedTokens  = 20_000
	lookupBurst       = 2_000
	lookupsPerSecond  = 200
	credentialTimeout = 5 * time.Second
)

// errManyLookups says that ids are tried faster than the database is asked.
var errManyLookups = errors.New("too many unknown tokens are tried")

// tokenCache remembers tokens, and ids that are none, for some seconds.
type tokenCache struct {
	keeper Keeper
	kept   time.Duration
	now    func() time.Time

	mu      sync.Mutex
	known   map[string]*knownToken
	unknown map[string]time.Time
	lookups bucket
}

type knownToken struct {
	store.Token

	read time.Time
}

func newTokenCache(k Keeper, kept time.Duration, now func() time.Time) *tokenCache {
	return &tokenCache{
		keeper: k, kept: kept, now: now, known: map[string]*knownToken{}, unknown: map[string]time.Time{},
		lookups: bucket{perS: lookupsPerSecond, most: lookupBurst, left: lookupBurst},
	}
}

// find gives a token. ErrNotFound where there is none.
func (c *tokenCache) find(ctx context.Context, id string) (store.Token, error) {
	if t, decided, err := c.remembered(id); decided {
		return t, err
	}
	ctx, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()
	t, err := c.keeper.Token(ctx, id)
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(err, store.ErrNotFound):
		delete(c.known, id)
		if len(c.unknown) >= rememberedTokens {
			clear(c.unknown)
		}
		c.unknown[id] = now
	case err == nil:
		if len(c.known) >= rememberedTokens {
			clear(c.known)
		}
		c.known[id] = &knownToken{t, now}
	}
	return t, err
}

// remembered gives what is known without a question; decided is false where the
// keeper is to be asked.
func (c *tokenCache) remembered(id string) (t store.Token, decided bool, err error) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.known[id]; ok { // one that exists is asked for whenever it is due
		return k.Token, now.Sub(k.read) < c.kept, nil
	}
	if read, ok := c.unknown[id]; ok && now.Sub(read) < c.kept {
		return t, true, store.ErrNotFound
	}
	if !c.lookups.take(now) {
		return t, true, errManyLookups
	}
	return t, false, nil
}

// touched notes that a token's use was written down.
func (c *tokenCache) touched(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.known[id]; ok {
		k.TouchDue = false
	}
}

// certificateCache remembers whose certificates are.
type certificateCache struct {
	ask  func(context.Context, *x509.Certificate) (store.NodeID, error)
	kept time.Duration
	now  func() time.Time

	mu    sync.Mutex
	known map[[sha256.Size]byte]knownCertificate
}

type knownCertificate struct {
	node store.NodeID
	read time.Time
}

func newCertificateCache(find func(context.Context, *x509.Certificate) (store.NodeID, error), kept time.Duration, now func() time.Time) *certificateCache {
	return &certificateCache{ask: find, kept: kept, now: now, known: map[[sha256.Size]byte]knownCertificate{}}
}

func (c *certificateCache) find(ctx context.Context, certificate *x509.Certificate) (store.NodeID, error) {
	fingerprint := sha256.Sum256(certificate.Raw)
	c.mu.Lock()
	k, ok := c.known[fingerprint]
	c.mu.Unlock()
	if ok && c.now().Sub(k.read) < c.kept {
		return k.node, nil
	}
	ctx, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()
	node, err := c.ask(ctx, certificate)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= rememberedTokens {
		clear(c.known)
	}
	c.known[fingerprint] = knownCertificate{node, c.now()}
	return node, nil
}
