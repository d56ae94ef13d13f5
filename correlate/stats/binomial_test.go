package stats

import (
	"math"
	"testing"
)

func TestBinomialTail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		k, n    int
		p, want float64
	}{
		"R: pbinom(7, 9, .5, lower=F)":       {8, 9, 0.5, 0.01953125},
		"R: pbinom(19, 40, .31, lower=F)":    {20, 40, 0.31, 0.00929822146004185},
		"R: pbinom(75, 89, .34, lower=F)":    {76, 89, 0.34, 1.71249984881088e-23},
		"R: pbinom(999, 2000, .48, lower=F)": {1000, 2000, 0.48, 0.0385779943662182},
		"none or more is certain":            {0, 5, 0.2, 1},
		"more than all is impossible":        {6, 5, 0.2, 0},
		"of no trials none is certain":       {0, 0, 0.2, 1},
		"a probability of one reaches all":   {5, 5, 1, 1},
		"a probability of zero reaches none": {1, 5, 0, 0},
		"a negative number of trials":        {0, -1, 0.5, math.NaN()},
		"a probability over one":             {1, 2, 1.5, math.NaN()},
		"a probability that is not known":    {1, 2, math.NaN(), math.NaN()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near(t, "tail", BinomialTail(test.k, test.n, test.p), test.want, 1e-11)
		})
	}
}

func TestBinomialInterval(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	tests := map[string]struct {
		k, n      int
		level     float64
		low, high float64
	}{
		"R: binom.test(13, 89)$conf.int":                 {13, 89, 0.95, 0.0801310169341979, 0.2368202436359144},
		"R: binom.test(0, 20)$conf.int":                  {0, 20, 0.95, 0, 0.168433470983085},
		"R: binom.test(5, 5)$conf.int":                   {5, 5, 0.95, 0.478176249895019, 1},
		"more successes than trials":                     {6, 5, 0.95, nan, nan},
		"trials beyond the bound":                        {5, 1 << 30, 0.95, nan, nan},
		"no trials":                                      {0, 0, 0.95, nan, nan},
		"a level of one":                                 {1, 2, 1, nan, nan},
		"R: binom.test(20000, 20005, conf.level=1-2e-6)": {20000, 20005, 1 - 2e-6, 0.998730334192683, 0.999991548153397},
		"R: binom.test(300000, 1000000)$conf.int":        {300000, 1000000, 0.95, 0.299101911933582, 0.300899246642254},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			low, high := BinomialInterval(test.k, test.n, test.level)
			near(t, "low", low, test.low, 1e-10)
			near(t, "high", high, test.high, 1e-10)
		})
	}
}

func TestSignTest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		k, n int
		want float64
	}{
		"8 of 9 faster, by hand: 2*(9+1)/512": {8, 9, 0.0390625},
		"the other direction is the same":     {1, 9, 0.0390625},
		"R: binom.test(3, 10)$p.value":        {3, 10, 0.34375},
		"an even split proves nothing":        {5, 10, 1},
		"no pairs at all":                     {0, 0, math.NaN()},
		"more successes than pairs":           {3, 2, math.NaN()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near(t, "p", SignTest(test.k, test.n), test.want, 1e-12)
		})
	}
}

func TestDetectableRatio(t *testing.T) {
	t.Parallel()
	// R: k <- min(which(pbinom((0:n)-1, n, s, lower=F) <= alpha)) - 1
	//    p <- uniroot(function(p) pbinom(k-1, n, p, lower=F) - power, c(s, 1))$root
	//    p/(1-p)*(1-s)/s
	nan := math.NaN()
	tests := map[string]struct {
		stalls              int
		share, alpha, power float64
		want                float64
	}{
		"20 stalls, a third of the time exposed":            {20, 0.34, 0.05, 0.8, 3.114389539324829},
		"8 stalls, a tenth exposed, strict":                 {8, 0.1, 0.005, 0.8, 20.680847323454035},
		"the reference case's 89 stalls":                    {89, 0.34, 0.005, 0.9, 2.327391944081499},
		"2 stalls of which both exposed is not significant": {2, 0.34, 0.05, 0.8, math.Inf(1)},
		"a power below the size of the test":                {20, 0.34, 0.05, 0.01, 1},
		"no stalls":                                         {0, 0.34, 0.05, 0.8, nan},
		"no exposed time":                                   {20, 0, 0.05, 0.8, nan},
		"unknown exposed share":                             {20, nan, 0.05, 0.8, nan},
		"certainty is not to be had":                        {20, 0.34, 0.05, 1, nan},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near(t, "ratio", DetectableRatio(test.stalls, test.share, test.alpha, test.power), test.want, 1e-9)
		})
	}
}
