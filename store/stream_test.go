package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// In a bubble of its own clock: time passes only while all wait.
func TestAWatchCountsTheWaitForTheServerOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := startWatch(4*time.Second, cancel)
		wantGoingOn := func(what string) {
			t.Helper()
			synctest.Wait()
			if ctx.Err() != nil {
				t.Fatalf("%s: cancelled: %v", what, context.Cause(ctx))
			}
		}
		w.pause()
		time.Sleep(time.Hour)
		wantGoingOn("an hour in the sink")
		for range 100 {
			w.wait()
			time.Sleep(3 * time.Second)
			w.pause()
		}
		wantGoingOn("a hundred waits of 3 s")
		w.wait()
		time.Sleep(3900 * time.Millisecond)
		wantGoingOn("a wait of 3.9 s")
		time.Sleep(1200 * time.Millisecond)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), errDeadline) {
			t.Fatalf("after a wait of 5.1 s: %v", context.Cause(ctx))
		}
		w.end()
	})
}
