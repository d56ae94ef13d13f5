package stats

import (
	"math"
	"testing"
)

func TestFisherExact(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	// R: sapply(c("greater","less","two.sided"), function(s)
	//    fisher.test(matrix(c(a,c,b,d), 2), alternative=s)$p.value)
	tests := map[string]struct {
		a, b, c, d int
		want       Fisher
	}{
		"the lady tasting tea (Fisher 1935): 17/70": {3, 1, 1, 3, Fisher{17.0 / 70, 69.0 / 70, 34.0 / 70}},
		"the reference case's counts":               {76, 230, 13, 581, Fisher{4.96305365295178e-26, 1, 4.96305365295177e-26}},
		"a small p":                                 {10, 2, 3, 15, Fisher{0.000465180943362906, 0.999984519018686124, 0.000536724119143436}},
		"an empty cell":                             {0, 5, 4, 1, Fisher{1, 0.0238095238095238, 0.0476190476190476}},
		"thousands":                                 {1000, 2000, 1500, 2500, Fisher{0.999858595655884086, 0.000171800895686528, 0.000344202753223340}},
		"two empty cells":                           {2, 0, 0, 3, Fisher{0.1, 1, 0.1}},
		"a table without one margin":                {0, 4, 0, 7, Fisher{1, 1, 1}},
		"an empty table":                            {0, 0, 0, 0, Fisher{1, 1, 1}},
		"a negative count":                          {-1, 2, 3, 4, Fisher{nan, nan, nan}},
		"a total beyond the bound":                  {1 << 29, 1 << 29, 1 << 29, 1 << 29, Fisher{nan, nan, nan}},
		"a count that would overflow":               {math.MaxInt, math.MaxInt, 1, 1, Fisher{nan, nan, nan}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := FisherExact(test.a, test.b, test.c, test.d)
			near(t, "greater", got.Greater, test.want.Greater, 1e-10)
			near(t, "less", got.Less, test.want.Less, 1e-10)
			near(t, "two-sided", got.TwoSided, test.want.TwoSided, 1e-10)
		})
	}
}

func TestFisherExactOfEqualGroupsTakesBothTailsForTied(t *testing.T) {
	t.Parallel()
	// With groups of one size the distribution is symmetric, so that the
	// two-sided p-value is twice the smaller one-sided one, or 1.
	for a := range 31 {
		for c := range 31 {
			got := FisherExact(a, 30-a, c, 30-c)
			near(t, "two-sided", got.TwoSided, min(1, 2*min(got.Greater, got.Less)), 1e-9)
		}
	}
}

func TestFisherExactWithFewStallsAmongMillionsOfTicks(t *testing.T) {
	t.Parallel()
	// R: fisher.test(matrix(c(3,5,40000,900000), 2))$p.value
	near(t, "two-sided", FisherExact(3, 40000, 5, 900000).TwoSided, 0.00367218646140284, 1e-7)
	// By symmetry half of all tables lie on either side of an even split.
	even := FisherExact(1<<27, 1<<27, 1<<27, 1<<27)
	near(t, "greater at an even split", even.Greater, 0.5, 1e-3)
}
