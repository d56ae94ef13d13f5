package series

import "testing"

// By hand: a wrap gains now + 4,294,967,296 - was.
func TestACounterThatFellIsAWrapOnlyAtAPlausibleRate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		usual    usualRate
		was, now uint64
		sec      float64
		gain     int64
		ok       bool
	}{
		{"no usual rate is known: 300,000/s is believed", usualRate{}, 4_291_967_296, 0, 10, 3_000_000, true},
		{"no usual rate is known: more is not", usualRate{}, 4_291_967_295, 0, 10, 3_000_001, false},
		{"two intervals make no usual rate", usualRate{1, 2}, 4_291_967_296, 0, 10, 3_000_000, true},
		{"20 times the usual rate is believed", usualRate{1000, 3}, 4_294_767_296, 0, 10, 200_000, true},
		{"more is not", usualRate{1000, 3}, 4_294_767_295, 0, 10, 200_001, false},
		{"a line that is usually fast may wrap faster", usualRate{100_000, 3}, 4_274_967_296, 0, 10, 20_000_000, true},
		// 500,000/s over 10,000 s are 5e9.
		{"several wraps are possible", usualRate{500_000, 3}, 5, 9, 10_000, 0, false},
		{"a sum over 32 bits does not wrap", usualRate{}, 4_294_967_296, 0, 10, 0, false},
		{"a rise is no wrap", usualRate{1, 3}, 5, 5_000_005, 10, 5_000_000, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			gain, ok := tt.usual.gain(tt.was, tt.now, tt.sec)
			if ok != tt.ok || ok && gain != tt.gain {
				t.Errorf("got %d, %t, want %d, %t", gain, ok, tt.gain, tt.ok)
			}
		})
	}
}

// By hand: the mean of 1, 2, 3; from the eighth on an eighth of the difference.
func TestTheUsualRateFollows(t *testing.T) {
	t.Parallel()
	var u usualRate
	for _, v := range []float64{1, 2, 3} {
		u.follow(v)
	}
	checkValue(t, "mean of three", u.perS, 2)
	for range 5 {
		u.follow(2)
	}
	u.follow(10)
	checkValue(t, "after eight", u.perS, 3)
}
