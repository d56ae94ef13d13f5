package stats

import (
	"math"
	"testing"
)

func TestRelativeRisk(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	tests := map[string]struct {
		a, n1, b, n0 float64
		want         Ratio
	}{
		// Steering Committee of the Physicians' Health Study, NEJM 321 (1989):
		// myocardial infarctions under aspirin and placebo, published as 0.58.
		// R: exp(log(r) + c(-1,1)*qnorm(.975)*sqrt(1/139-1/11037+1/239-1/11034))
		"aspirin and infarction":                    {139, 11037, 239, 11034, Ratio{0.581431874451967, 0.472528218095830, 0.715434574449409}},
		"the reference case's counts (R, as above)": {76, 306, 13, 594, Ratio{11.34841628959276, 6.40590552861594, 20.10434773141588}},
		// R: poisson.test(c(8,0), c(300,600)), poisson.test(c(0,8), c(300,600))
		"all cases exposed":       {8, 300, 0, 600, Ratio{inf, 3.41394117793254, inf}},
		"no case exposed":         {0, 300, 8, 600, Ratio{0, 0, 1.17166635027449}},
		"no cases at all":         {0, 300, 0, 600, Ratio{nan, 0, inf}},
		"no exposed members":      {0, 0, 3, 600, Ratio{nan, nan, nan}},
		"more cases than members": {7, 6, 3, 600, Ratio{nan, nan, nan}},
		"a negative count":        {-1, 6, 3, 600, Ratio{nan, nan, nan}},
		"an unknown count":        {nan, 6, 3, 600, Ratio{nan, nan, nan}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nearRatio(t, RelativeRisk(test.a, test.n1, test.b, test.n0), test.want, 1e-10)
		})
	}
}

func TestRelativeRiskWhereEveryoneIsACaseKeepsAnInterval(t *testing.T) {
	t.Parallel()
	r := RelativeRisk(4, 4, 6, 6)
	if r.Value != 1 || !(r.Low < 1) || !(r.High > 1) {
		t.Errorf("got %+v, want 1 inside a proper interval", r)
	}
}

func TestRateRatio(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	tests := map[string]struct {
		a, t1, b, t0 float64
		want         Ratio
	}{
		// Boice and Monson (JNCI 59, 1977), breast cancer after fluoroscopies,
		// as in Rothman: rate ratio 1.86, 95 % interval 1.03 to 3.35.
		// R: exp(log(r) + c(-1,1)*qnorm(.975)*sqrt(1/41+1/15))
		"fluoroscopy and breast cancer": {41, 28010, 15, 19017, Ratio{1.85575865762228, 1.02722599764764, 3.35256331442787}},
		"no unexposed events is exact":  {8, 300, 0, 600, Ratio{inf, 3.41394117793254, inf}},
		"no time":                       {8, 300, 1, 0, Ratio{nan, nan, nan}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nearRatio(t, RateRatio(test.a, test.t1, test.b, test.t0), test.want, 1e-10)
		})
	}
}

func TestRateRatioExact(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	tests := map[string]struct {
		a, t1, b, t0 float64
		want         Ratio
	}{
		"R: poisson.test(c(11,3), c(800,1200))":            {11, 800, 3, 1200, Ratio{5.5, 1.45289728971977, 30.70315440516437}},
		"R: poisson.test(c(76,13), c(306,594))":            {76, 306, 13, 594, Ratio{11.34841628959276, 6.25565856676011, 22.28385579353857}},
		"R: poisson.test(c(0,8), c(300,600))":              {0, 300, 8, 600, Ratio{0, 0, 1.17166635027449}},
		"R: poisson.test(c(5,0), c(10,1e6)), uneven times": {5, 10, 0, 1e6, Ratio{inf, 91635.585731546, inf}},
		"no events":       {0, 300, 0, 600, Ratio{nan, 0, inf}},
		"no exposed time": {0, 0, 8, 600, Ratio{nan, nan, nan}},
		"infinite time":   {1, inf, 8, 600, Ratio{nan, nan, nan}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nearRatio(t, RateRatioExact(test.a, test.t1, test.b, test.t0), test.want, 1e-9)
		})
	}
}
