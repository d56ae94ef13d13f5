package service

import (
	"context"
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
	level, what := slog.LevelDebug, strings.TrimSpace(string(text))
	if strings.HasPrefix(what, "http: panic") || strings.HasPrefix(what, "http: Accept error") {
		level = slog.LevelError // a fault of ours, or of the host
	}
	l.to.Log(context.Background(), level, "connection", "listener", l.name, "error", what)
	return len(text), nil
}
