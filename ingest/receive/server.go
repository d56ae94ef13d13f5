package receive

import (
	"crypto/tls"
	"log"
	"net/http"
	"time"
)

// NewServer gives a server of a Receiver, or of what is around one, that waits for
// no client longer than it must. A nil configuration of TLS is for loopback.
func NewServer(h http.Handler, config *tls.Config, errors *log.Logger) *http.Server {
	return &http.Server{
		Handler: h, TLSConfig: config, ErrorLog: errors,
		ReadHeaderTimeout: 10 * time.Second,
		// A body has its own deadline, and storing one too; this ends what hangs
		// in spite of them.
		ReadTimeout: 2 * time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout:    2 * time.Minute, // agents come every ten seconds
		MaxHeaderBytes: 16 << 10,
	}
}
