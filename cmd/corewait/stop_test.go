package main

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestWorkThatDoesNotStopBySignalIsEnded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		signals int
		grace   time.Duration
	}{
		"by a second signal":                      {2, time.Hour},
		"by the end of the grace after the first": {1, time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals := make(chan os.Signal, 2)
			exited := make(chan int, 1)
			var stderr bytes.Buffer
			ctx, done := interruptible(signals, tt.grace, &stderr, func(status int) { exited <- status })
			for range tt.signals {
				signals <- syscall.SIGINT
			}
			select {
			case status := <-exited:
				if status != 1 || ctx.Err() == nil || stderr.String() != "corewait: stopped before it was done\n" {
					t.Errorf("status %d, context %v, stderr %q", status, ctx.Err(), stderr.String())
				}
			case <-time.After(30 * time.Second):
				t.Fatal("goes on")
			}
			done()
		})
	}
}

func TestWorkThatStopsAfterTheFirstSignalEndsByItself(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 2)
	var stderr bytes.Buffer
	ctx, done := interruptible(signals, time.Hour, &stderr, func(status int) { t.Errorf("ended with status %d", status) })
	signals <- syscall.SIGTERM
	select {
	case <-ctx.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the signal does not cancel")
	}
	done()
	signals <- syscall.SIGTERM
	if stderr.Len() > 0 {
		t.Errorf("stderr %q", stderr.String())
	}
}

func TestErrorsAreOneLineThatIsSafeToShow(t *testing.T) {
	t.Parallel()
	err := errors.New("open \x1b[31mred\u2028.log\nsecond\r\nthird")
	if got, want := oneLine(err.Error()), "open ?[31mred .log; second; third"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
