package receive_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Main(m)) }

var _ receive.Keeper = (*store.Store)(nil)

// authority is a certificate authority of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert = a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.pool = x509.NewCertPool()
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(c *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.NotBefore = time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

func (a *authority) server() tls.Certificate {
	key, cert := a.issue(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a *authority) client(name string) tls.Certificate {
	key, cert := a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// clock is the service's clock of a test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// service is a Receiver behind HTTPS on loopback.
type service struct {
	t         *testing.T
	url       string
	receiver  *receive.Receiver
	registry  *prometheus.Registry
	log       *lockedBuffer
	client    *http.Client
	authority *authority
}

// lockedBuffer takes the log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func serve(t *testing.T, k receive.Keeper, o receive.Options) *service {
	t.Helper()
	s := &service{t: t, registry: prometheus.NewRegistry(), log: &lockedBuffer{}, authority: newAuthority(t)}
	o.Registerer, o.Log = s.registry, slog.New(slog.NewTextHandler(s.log, nil))
	var err error
	if s.receiver, err = receive.New(k, o); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := receive.NewServer(s.receiver, &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{s.authority.server()}, ClientCAs: s.authority.pool, ClientAuth: tls.VerifyClientCertIfGiven,
	}, slog.NewLogLogger(slog.NewTextHandler(s.log, nil), slog.LevelWarn))
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	s.url = "https://" + listener.Addr().String()
	s.client = s.clientWith()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.client.CloseIdleConnections() // one that was dialled and not needed is waited for
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		s.receiver.Close()
	})
	return s
}

// clientWith gives a client with these certificates.
func (s *service) clientWith(certificates ...tls.Certificate) *http.Client {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: s.authority.pool, Certificates: certificates,
	}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// request is a push as a test changes it before it is sent.
func (s *service) request(token string, body []byte) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+api.Path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", api.MediaType)
	req.Header.Set("Content-Encoding", api.ContentEncoding)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

// send gives the acknowledgement, or the error.
func (s *service) send(req *http.Request) (*corewaitv1.Acknowledgement, *api.Error) {
	s.t.Helper()
	return s.sendBy(s.client, req)
}

func (s *service) sendBy(client *http.Client, req *http.Request) (*corewaitv1.Acknowledgement, *api.Error) {
	s.t.Helper()
	response, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		e, ok := api.ReadError(response)
		if !ok {
			s.t.Fatalf("status %d is not the service's own error", response.StatusCode)
		}
		return nil, e
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	ack := new(corewaitv1.Acknowledgement)
	if err := proto.Unmarshal(body, ack); err != nil {
		s.t.Fatal(err)
	}
	return ack, nil
}

// get gives the status and the body of a page.
func (s *service) get(path string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// counted gives the value of a counter of the registry.
func (s *service) counted(name, code string) float64 {
	s.t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if code == "" || m.GetLabel()[0].GetValue() == code {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	s.t.Fatalf("there is no metric %s of %q", name, code)
	return 0
}

// sampled makes a batch of ten seconds of interrupts of two CPUs, that ended at an
// instant; the node booted an hour before they began.
func sampled(spool byte, sequence uint64, end time.Time) *corewaitv1.Batch {
	b := &corewaitv1.Batch{
		SpoolId: bytes.Repeat([]byte{spool}, 16), Sequence: sequence, BootId: "0f3c8a52-5b7e-4a3e-9a55-1c7d2f60b9aa", Hostname: "db1.example", AgentVersion: "1.0.0",
		Clock: []*corewaitv1.ClockReading{{BoottimeUs: hourUS + 10*secondUS, UtcUs: end.UnixMicro(), Synchronized: new(true), ErrorUs: 700}},
	}
	for s := range int64(10) {
		b.Interrupts = append(b.Interrupts, &corewaitv1.InterruptSample{FromUs: hourUS + s*secondUS, ToUs: hourUS + (s+1)*secondUS, Counts: []int64{s, 100 + s}})
	}
	return b
}

const (
	secondUS = int64(1_000_000)
	hourUS   = 3_600 * secondUS
)

func marshal(t testing.TB, b *corewaitv1.Batch) []byte {
	t.Helper()
	body, err := api.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
