package service

import (
	"log"
	"log/slog"
	"strings"
)

// quiet gives the log of an HTTP server: what clients do wrong (handshakes that
// fail, connections that break) is worth a line when somebody looks for it.
func quiet(to *slog.Logger, name string) *log.Logger {
	return log.New(&lines{to: to, name: name}, "", 0)
}

type lines struct {
	to   *slog.Logger
	name string
}

func (l *lines) Write(text []byte) (int, error) {
	l.to.Debug("connection", "listener", l.name, "error", strings.TrimSpace(string(text)))
	return len(text), nil
}
