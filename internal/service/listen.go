package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/store"
	"github.com/corewait/corewait/web"
)

// Bounds of a connection: agents push every 10 s over one that is kept open, and a
// client that dawdles must not hold one for ever.
const (
	headerPatience = 10 * time.Second
	readPatience   = 60 * time.Second
	writePatience  = 60 * time.Second
	idlePatience   = 2 * time.Minute
	longestHeader  = 16 << 10
)

// listener is one of the service's two listeners.
type listener struct {
	socket net.Listener
	server *http.Server
	tls    *certificates // nil: plain
}

// listen opens both listeners.
func (s *parts) listen(context.Context) error {
	c := s.o.Config
	options := receive.Options{
		Log: s.o.Log, Registerer: s.registry, Limits: api.Limits{Body: int64(c.Agents.MaxBody), Decompressed: int64(c.Agents.MaxDecompressed)},
		MaxInFlight: c.Agents.MaxInFlight, MaxInFlightBytes: int64(c.Agents.MaxInFlightBytes),
		MaxClockOffset: c.Agents.MaxClockOffset, PushDeadline: c.Agents.PushDeadline, NameOfNode: s.names.name,
	}
	if c.Agents.TLS.ClientCAFile != "" {
		options.NodeOfCertificate = func(ctx context.Context, c *x509.Certificate) (store.NodeID, error) {
			if c.Subject.CommonName == "" {
				return 0, store.ErrNotFound
			}
			return s.store.Node(ctx, c.Subject.CommonName)
		}
	}
	var err error
	if s.receiver, err = receive.New(s.store, options); err != nil {
		return err
	}
	token, err := c.PeopleToken()
	if err != nil {
		return err
	}
	hosts := c.People.Hosts
	if token == "" && hosts == nil {
		hosts = []string{}
	}
	site := web.New(s.store, web.Options{
		Token: token, Hosts: hosts, Metrics: promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}),
		Jobs: s.runner.Status, Ready: s.ready, Version: s.o.Version, Log: s.o.Log,
	})
	// A push is stored in two attempts at most, and is then to be acknowledged.
	patience := writePatience + 2*c.Agents.PushDeadline
	if s.agents, err = s.open("agents", c.Agents.Listen, certificateFiles{c.Agents.TLS.CertFile, c.Agents.TLS.KeyFile, c.Agents.TLS.ClientCAFile}, s.receiver, patience); err != nil {
		return err
	}
	s.people, err = s.open("people", c.People.Listen, certificateFiles{c.People.TLS.CertFile, c.People.TLS.KeyFile, ""}, site, writePatience)
	return err
}

// open begins to listen. patience is how long a request may take to be answered.
func (s *parts) open(name, address string, files certificateFiles, handler http.Handler, patience time.Duration) (*listener, error) {
	l := &listener{server: &http.Server{
		Handler: handler, ReadHeaderTimeout: headerPatience, ReadTimeout: readPatience, WriteTimeout: patience, IdleTimeout: idlePatience,
		MaxHeaderBytes: longestHeader, ErrorLog: quiet(s.o.Log, name),
	}}
	var err error
	if files.cert != "" {
		if l.tls, err = newCertificates(files); err != nil {
			return nil, fmt.Errorf("%s.tls: %w", name, err)
		}
	}
	if l.socket, err = net.Listen("tcp", address); err != nil { //nolint:noctx // at once
		return nil, fmt.Errorf("%s.listen: %w", name, err)
	}
	serve := func() error { return l.server.Serve(l.socket) }
	if l.tls != nil {
		l.server.TLSConfig = l.tls.config()
		serve = func() error { return l.server.ServeTLS(l.socket, "", "") }
	}
	go func() {
		if err := serve(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("listener for %s: %w", name, err)
		}
	}()
	return l, nil
}

func (l *listener) address() string {
	scheme := "http://"
	if l.tls != nil {
		scheme = "https://"
	}
	return scheme + l.socket.Addr().String()
}

// stop takes no more connections, waits for the requests under way, and then ends
// those that are left.
func (l *listener) stop(ctx context.Context) error {
	if l == nil {
		return nil
	}
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests under way on %s were ended: %w", l.socket.Addr(), err), l.server.Close())
	}
	return err
}

// reload reads the certificates again, and gives what makes them count.
func (l *listener) reload() (take func(), err error) {
	if l.tls == nil {
		return func() {}, nil
	}
	config, err := l.tls.files.read()
	if err != nil {
		return nil, err
	}
	return func() { l.tls.current.Store(config) }, nil
}

// certificateFiles are a listener's; clientCA "" asks for no client certificate.
type certificateFiles struct{ cert, key, clientCA string }

// certificates are what a listener shows and wants to be shown. They are read
// again on reload: connections under way keep theirs.
type certificates struct {
	files   certificateFiles
	current atomic.Pointer[tls.Config]
}

func newCertificates(files certificateFiles) (*certificates, error) {
	read, err := files.read()
	if err != nil {
		return nil, err
	}
	c := &certificates{files: files}
	c.current.Store(read)
	return c, nil
}

func (f certificateFiles) read() (*tls.Config, error) {
	cert, err := config.ReadCertificates(f.cert)
	if err != nil {
		return nil, err
	}
	key, err := config.ReadKey(f.key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", f.cert, f.key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if f.clientCA == "" {
		return c, nil
	}
	text, err := config.ReadCertificates(f.clientCA)
	if err != nil {
		return nil, err
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in it", f.clientCA)
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	return c, nil
}

// config gives each connection the certificates of then.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil },
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &c.current.Load().Certificates[0], nil
		},
	}
}
