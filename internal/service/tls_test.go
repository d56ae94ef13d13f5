package service_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/testdb"
)

// overTLS gives a configuration whose listeners both speak TLS by an authority's
// certificates, and their files.
func overTLS(a *authority, address string) (c *config.Config, agents, people files) {
	a.t.Helper()
	folder := a.t.TempDir()
	c, agents, people = onDatabase(address), filesIn(folder, "agents"), filesIn(folder, "people")
	agents.write(a.t, a.server())
	people.write(a.t, a.server())
	c.Agents.TLS.CertFile, c.Agents.TLS.KeyFile = agents.cert, agents.key
	c.People.TLS = config.TLS{CertFile: people.cert, KeyFile: people.key}
	return c, agents, people
}

// same is what a reload reads where only files that are named have changed.
func same(c *config.Config) func() (*config.Config, error) {
	return func() (*config.Config, error) { return c, nil }
}

func TestListenersSpeakTLSToWhoKnowsTheAuthority(t *testing.T) {
	t.Parallel()
	ours, foreign := newAuthority(t, "ours"), newAuthority(t, "foreign")
	c, _, _ := overTLS(ours, testdb.New(t))
	c.People.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(c.People.TokenFile, []byte(strings.Repeat("a1", 16)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, c, nil)
	a := newAgent(t, r.Store, "db1")
	a.use(ours.transport())
	a.mustPush(r.Agents, 1)

	a.use(foreign.transport())
	if _, err := a.push(t.Context(), r.Agents, 2, 1); !errors.As(err, new(*tls.CertificateVerificationError)) {
		t.Errorf("an agent that knows another authority: %v", err)
	}
	a.use(&http.Transport{})
	plain := "http" + strings.TrimPrefix(r.Agents, "https")
	if _, err := a.push(t.Context(), plain, 2, 1); err == nil || errors.As(err, new(*api.Error)) {
		t.Errorf("a push without TLS: %v", err)
	}
	old := ours.transport()
	old.TLSClientConfig.MinVersion, old.TLSClientConfig.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	a.use(old)
	if _, err := a.push(t.Context(), r.Agents, 2, 1); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("a push over TLS 1.1: %v", err)
	}

	if code, _ := getOver(t, ours.transport(), r.People+"/api/v1/nodes"); code != http.StatusUnauthorized {
		t.Errorf("people without a token are answered by %d", code)
	}
	if code, body := getOver(t, ours.transport(), r.People+"/readyz"); code != http.StatusOK {
		t.Errorf("/readyz needs no token, and is answered by %d %s", code, body)
	}
}

func TestACertificateNamesItsNode(t *testing.T) {
	t.Parallel()
	ours, foreign := newAuthority(t, "ours"), newAuthority(t, "ours") // by the same name, even
	address := testdb.New(t)
	c, agents, _ := overTLS(ours, address)
	clients := newAuthority(t, "of agents")
	agents.writeClientCA(clients)
	c.Agents.TLS.ClientCAFile = agents.clientCA
	r := run(t, c, nil)
	a := newAgent(t, r.Store, "db1")
	token := a.token
	a.token.Text = "" // the certificate is all that it shows
	a.use(ours.transport(clients.node("db1")))
	a.mustPush(r.Agents, 1)
	for sequence, f := range a.find(connect(t, address), 1)[1:] {
		if !f.equal(stored(1)) {
			t.Errorf("batch %d of the node that the certificate names: %+v", sequence+1, f)
		}
	}

	expired := clients.sign(x509.Certificate{
		Subject: pkix.Name{CommonName: "db1"}, NotAfter: time.Now().Add(-time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	listener := clients.sign(x509.Certificate{Subject: pkix.Name{CommonName: "db1"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	for name, shown := range map[string][]tls.Certificate{
		"none":                              nil,
		"one of a foreign authority":        {foreign.node("db1")},
		"one of the listener's authority":   {ours.node("db1")},
		"one that has expired":              {expired},
		"one that is for listeners":         {listener},
		"one that its holder signed itself": {(&authority{t: t}).node("db1")},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			transport := ours.transport()
			transport.TLSClientConfig.MaxVersion = version
			// Whatever authorities the listener names, this is what is shown.
			transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if shown == nil {
					return new(tls.Certificate), nil
				}
				return &shown[0], nil
			}
			a.use(transport)
			for _, text := range []string{"", token.Text} { // a token is no way around it
				a.token.Text = text
				_, err := a.push(t.Context(), r.Agents, 2, 1)
				if err == nil || errors.As(err, new(*api.Error)) {
					t.Errorf("certificate: %s, %s: %v, want an alert of TLS", name, tls.VersionName(version), err)
				}
			}
		}
	}
	a.token.Text = ""
	a.use(ours.transport(clients.node("")))
	var refused *api.Error
	if _, err := a.push(t.Context(), r.Agents, 2, 1); !errors.As(err, &refused) || refused.Code != api.CodeUnauthorized {
		t.Errorf("a certificate without a name: %v", err)
	}
}

// connectionOf pushes a batch and tells whether the connection was there before.
func (a *agent) connectionOf(to string, sequence int) (reused bool) {
	a.t.Helper()
	ctx := httptrace.WithClientTrace(a.t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
	if _, err := a.push(ctx, to, sequence, 1); err != nil {
		a.t.Fatalf("push %d of %s: %v", sequence, a.name, err)
	}
	return reused
}

// shown gives the certificate that a listener shows to who connects now.
func shown(a *authority, address string) *x509.Certificate {
	a.t.Helper()
	conn, err := (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.pool()}}).DialContext(a.t.Context(), "tcp", strings.TrimPrefix(address, "https://"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

func TestCertificatesAreReadAgainAndConnectionsGoOn(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t, "ours")
	c, agents, people := overTLS(ours, testdb.New(t))
	r := run(t, c, same(c))
	a := newAgent(t, r.Store, "db1")
	a.use(ours.transport())
	a.mustPush(r.Agents, 1)
	if !a.connectionOf(r.Agents, 2) {
		t.Fatal("the agent's connection is not kept")
	}
	for sequence := 3; sequence < 6; sequence++ { // again and again
		next := ours.server()
		agents.write(t, next)
		people.write(t, next)
		r.reload(reloaded)
		if !a.connectionOf(r.Agents, sequence) {
			t.Error("the agent's connection was ended by a reload")
		}
		for _, address := range []string{r.Agents, r.People} {
			if got := shown(ours, address); !got.Equal(next.Leaf) {
				t.Errorf("%s shows %s, want %s", address, got.SerialNumber, next.Leaf.SerialNumber)
			}
		}
	}
}

// TestAnAuthorityThatIsGoneLetsNobodyIn: not even who was let in before and
// resumes that session.
func TestAnAuthorityThatIsGoneLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			t.Parallel()
			ours, before, after := newAuthority(t, "ours"), newAuthority(t, "before"), newAuthority(t, "after")
			c, agents, _ := overTLS(ours, testdb.New(t))
			agents.writeClientCA(before)
			c.Agents.TLS.ClientCAFile = agents.clientCA
			r := run(t, c, same(c))
			a := newAgent(t, r.Store, "db1")
			a.token.Text = ""
			transport := ours.transport(before.node("db1"))
			transport.TLSClientConfig.ClientSessionCache, transport.TLSClientConfig.MaxVersion = tls.NewLRUClientSessionCache(1), version
			a.use(transport)
			a.mustPush(r.Agents, 1)
			transport.CloseIdleConnections()
			a.mustPush(r.Agents, 2) // with the session

			agents.writeClientCA(after)
			r.reload(reloaded)
			transport.CloseIdleConnections()
			if _, err := a.push(t.Context(), r.Agents, 3, 1); err == nil {
				t.Error("an agent of the authority that is gone was let in")
			}
			a.use(ours.transport(after.node("db1")))
			a.mustPush(r.Agents, 3)
		})
	}
}
