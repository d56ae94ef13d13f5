package domain

import (
	"testing"
	"time"
)

// By hand.
func TestSampledInstantsAreWholeMilliseconds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct{ after, want time.Duration }{
		{0, 0},
		{999 * time.Microsecond, 0},
		{50*time.Millisecond + 150*time.Microsecond, 50 * time.Millisecond},
		{-time.Microsecond, -time.Millisecond},
	} {
		if got := RoundSampled(at.Add(c.after)); !got.Equal(at.Add(c.want)) {
			t.Errorf("%v after is %v after, want %v", c.after, got.Sub(at), c.want)
		}
	}
}
