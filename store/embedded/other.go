//go:build !linux

package embedded

import "context"

// Server is a running private PostgreSQL.
type Server struct{}

// Start gives ErrUnsupported: that a server dies with its parent and that a
// process id is still the same server's can only be told on Linux.
func Start(context.Context, Options) (*Server, error) { return nil, ErrUnsupported }

// URL is the address of the database.
func (*Server) URL() string { return "" }

// PID is the process id of the postmaster.
func (*Server) PID() int { return 0 }

// Done is closed when the server has ended.
func (*Server) Done() <-chan struct{} { return nil }

// Err says how the server ended.
func (*Server) Err() error { return nil }

// Stop ends the server.
func (*Server) Stop(context.Context) error { return nil }
