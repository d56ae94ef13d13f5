package stats

import (
	"math"
	"testing"
)

func TestPoissonTail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		k          int
		mean, want float64
	}{
		"R: ppois(9, 4.2, lower=F)":         {10, 4.2, 0.0111269881989724},
		"R: ppois(0, 0.01, lower=F)":        {1, 0.01, 0.00995016625083195},
		"R: ppois(119, 80, lower=F)":        {120, 80, 1.81902164157567e-05},
		"R: ppois(1e6+2999, 1e6, lower=F)":  {1003000, 1e6, 0.00135803527268313},
		"R: ppois(9e7+18973, 9e7, lower=F)": {90018974, 9e7, 0.022753921930304},
		"a count beyond the bound":          {1 << 30, 5, math.NaN()},
		"none or more is certain":           {0, 3, 1},
		"a mean of zero gives none":         {1, 0, 0},
		"a negative mean":                   {1, -1, math.NaN()},
		"an infinite mean":                  {1, math.Inf(1), math.NaN()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near(t, "tail", PoissonTail(test.k, test.mean), test.want, 1e-9)
		})
	}
}

func TestPoissonInterval(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	tests := map[string]struct {
		k                int
		level, low, high float64
	}{
		"R: poisson.test(0)":                           {0, 0.95, 0, 3.68887945411394},
		"R: poisson.test(1)":                           {1, 0.95, 0.0253178079842899, 5.5716433909388989},
		"R: poisson.test(10), Garwood's 4.80 to 18.39": {10, 0.95, 4.79538869613243, 18.39035604201778},
		"R: poisson.test(127)":                         {127, 0.95, 105.874177850924, 151.105905051103},
		"R: poisson.test(10, conf.level=.9)":           {10, 0.9, 5.42540569709129, 16.96221923572190},
		"R: poisson.test(9e7)":                         {9e7, 0.95, 89981407.0962019, 90018595.7982073},
		"a count beyond the bound":                     {1 << 30, 0.95, nan, nan},
		"a negative count":                             {-1, 0.95, nan, nan},
		"a level of zero":                              {1, 0, nan, nan},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			low, high := PoissonInterval(test.k, test.level)
			near(t, "low", low, test.low, 1e-10)
			near(t, "high", high, test.high, 1e-10)
		})
	}
}
