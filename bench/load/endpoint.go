package main

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
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/store"
)

// endpoint is the service's listener for agents, over HTTPS on loopback.
type endpoint struct {
	url      string
	trusted  *x509.CertPool
	receiver *receive.Receiver
	server   *http.Server
	ended    chan error
}

func startEndpoint(ctx context.Context, keeper receive.Keeper, o receive.Options) (*endpoint, error) {
	e := &endpoint{trusted: x509.NewCertPool(), ended: make(chan error, 1)}
	certificate, err := e.certificate()
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	if e.receiver, err = receive.New(keeper, o); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		e.receiver.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	e.url = "https://" + listener.Addr().String() + api.Path
	e.server = receive.NewServer(e.receiver, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}, nil)
	go func() { e.ended <- e.server.ServeTLS(listener, "", "") }()
	return e, nil
}

// certificate makes a self-signed one, which is trusted.
func (e *endpoint) certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench/load"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, err
	}
	e.trusted.AddCert(made)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// close ends the listener once what is under way is answered.
func (e *endpoint) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := e.server.Shutdown(ctx)
	if ended := <-e.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	e.receiver.Close()
	return err
}

// player is one agent: it has a connection and a token of its own.
type player struct {
	url    string
	token  string
	client *http.Client
}

// newPlayer makes an agent of a node.
func (e *endpoint) newPlayer(ctx context.Context, s *store.Store, node store.NodeID) (*player, error) {
	token := receive.NewToken()
	if err := s.CreateToken(ctx, token.ID, node, token.Hash); err != nil {
		return nil, err
	}
	transport := &http.Transport{ // of HTTP/1.1, with one connection that stays
		MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: 2 * time.Minute, DisableCompression: true,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: e.trusted},
	}
	return &player{url: e.url, token: token.Text, client: &http.Client{Transport: transport, Timeout: time.Minute}}, nil
}

func (p *player) close() { p.client.CloseIdleConnections() }

// push sends a body once. refused is the service's own word that it did not take it.
func (p *player) push(ctx context.Context, body []byte, clock api.SentClock) (ack *corewaitv1.Acknowledgement, refused *api.Error, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("push: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", api.MediaType)
	req.Header.Set("Content-Encoding", api.ContentEncoding)
	req.Header.Set(api.ClockHeader, clock.String())
	response, err := p.client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("push: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	if response.StatusCode != http.StatusOK {
		refused, ok := api.ReadError(response)
		if !ok {
			return nil, nil, fmt.Errorf("push: status %d", response.StatusCode)
		}
		return nil, refused, nil
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, nil, fmt.Errorf("push: %w", err)
	}
	ack = new(corewaitv1.Acknowledgement)
	if err := proto.Unmarshal(answer, ack); err != nil {
		return nil, nil, fmt.Errorf("push: %w", err)
	}
	return ack, nil, nil
}

// wire gives a push of a node as the bytes that its agent sends, and how many rows
// and readings it holds.
func (n *node) wire(boot, from time.Time, sequence uint64) (body []byte, readings int64, err error) {
	e := api.NewEncoder(func(t time.Time) int64 { return t.Sub(boot).Microseconds() })
	if err := n.push(e, from); err != nil {
		return nil, 0, err
	}
	for _, at := range []time.Time{from, from.Add(pushEvery)} {
		e.ClockReading(at.Sub(boot).Microseconds(), at, new(true), time.Millisecond)
	}
	b := e.Batch()
	b.SpoolId, b.Sequence, b.BootId, b.Hostname, b.AgentVersion = bytes.Repeat([]byte{1}, 16), sequence, bootID, "played", "0.0.0"
	body, err = api.Marshal(b)
	return body, readingsOf(b), err
}

// bootID is that of every played node.
const bootID = "0f3c8a52-5b7e-4a3e-9a55-1c7d2f60b9aa"

// readingsOf counts a batch as the tables are counted by storedReadings.
func readingsOf(b *corewaitv1.Batch) int64 {
	n := len(b.GetInterrupts()) + len(b.GetDevices()) + len(b.GetSoftirqs()) + len(b.GetCpu()) + len(b.GetSystem()) + len(b.GetDisks())
	for _, r := range b.GetPlacement() {
		n += len(r.GetAfterUs())
	}
	return int64(n)
}
