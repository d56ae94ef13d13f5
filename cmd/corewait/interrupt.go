package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// How long work may take to stop by itself after a signal. A service finishes the
// requests and jobs under way and shuts its database down, for each of which it has
// its own bounds.
const (
	patience      = 2 * time.Second
	servePatience = 2 * time.Minute
)

// patienceFor gives how long a command may take to stop.
func patienceFor(args []string) time.Duration {
	if len(args) > 0 && (args[0] == "serve" || args[0] == "demo") {
		return servePatience
	}
	return patience
}

// stoppedLine says that a signal ended the work.
const stoppedLine = "stopped before it was done"

// interruptible gives a context that the first signal cancels. Where the work
// has not stopped by itself once a second signal comes or grace is over, exit
// ends the process. The work calls done when it has stopped: from then on, no
// signal is acted on.
func interruptible(signals <-chan os.Signal, grace time.Duration, stderr io.Writer, exit func(int)) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stopped, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-signals:
			cancel()
		case <-stopped:
			return
		}
		end := time.NewTimer(grace)
		defer end.Stop()
		select {
		case <-signals:
		case <-end.C:
		case <-stopped:
			return
		}
		fmt.Fprintln(stderr, "corewait: "+stoppedLine)
		exit(exitFailed)
	}()
	return ctx, func() {
		close(stopped)
		<-watched
		cancel()
	}
}
