package service_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates, and keeps its own in a file.
type authority struct {
	t    *testing.T
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, name: name}
	pair := a.sign(x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// sign makes a certificate; the authority's own where it has none yet.
func (a *authority) sign(c x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		a.t.Fatal(err)
	}
	c.NotBefore = time.Now().Add(-2 * time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = &c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// server makes the certificate of a listener on loopback.
func (a *authority) server() tls.Certificate {
	a.t.Helper()
	return a.sign(x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

// node makes the certificate of a node's agent.
func (a *authority) node(name string) tls.Certificate {
	a.t.Helper()
	return a.sign(x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// transport connects to listeners whose certificates the authority signed.
func (a *authority) transport(shown ...tls.Certificate) *http.Transport {
	t := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.pool(), Certificates: shown}}
	a.t.Cleanup(t.CloseIdleConnections)
	return t
}

// files are a listener's certificate, its key and the authority of its clients, as
// a configuration names them.
type files struct{ cert, key, clientCA string }

func filesIn(folder, listener string) files {
	return files{filepath.Join(folder, listener+".crt"), filepath.Join(folder, listener+".key"), filepath.Join(folder, listener+"-clients.crt")}
}

// write writes a listener's certificate and key.
func (f files) write(t *testing.T, pair tls.Certificate) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, f.cert, "CERTIFICATE", pair.Certificate[0])
	writePEM(t, f.key, "PRIVATE KEY", key)
}

// writeClientCA writes the authority of the clients.
func (f files) writeClientCA(a *authority) {
	a.t.Helper()
	writePEM(a.t, f.clientCA, "CERTIFICATE", a.cert.Raw)
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
