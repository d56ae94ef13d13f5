package stats

import (
	"math"
	"slices"
)

// SignedRank is the result of Wilcoxon's signed rank test.
type SignedRank struct {
	V     float64 // sum of the ranks of the positive differences
	Pairs int     // differences that are not zero
	P     float64 // two-sided
	Exact bool    // false: normal approximation
}

// exactPairs is the number of pairs from which the normal approximation is
// used, as in R.
const exactPairs = 50

// WilcoxonSignedRank tests whether paired differences are symmetric around
// zero (Wilcoxon, Biometrics Bulletin 1, 1945). Zeros are dropped. Under 50
// pairs without ties the p-value is exact; else it is normal with the variance
// corrected for ties and with continuity correction, as R's wilcox.test. NaN
// where no difference is left or one is NaN.
func WilcoxonSignedRank(differences []float64) SignedRank {
	kept := make([]float64, 0, len(differences))
	for _, d := range differences {
		if math.IsNaN(d) {
			return SignedRank{V: math.NaN(), P: math.NaN()}
		}
		if d != 0 {
			kept = append(kept, d)
		}
	}
	if len(kept) == 0 {
		return SignedRank{V: math.NaN(), P: math.NaN()}
	}
	v, ties := positiveRanks(kept)
	result := SignedRank{V: v, Pairs: len(kept), Exact: ties == 0 && len(kept) < exactPairs}
	if result.Exact {
		result.P = signedRankExact(int(v), len(kept))
	} else {
		result.P = signedRankNormal(v, ties, float64(len(kept)))
	}
	return result
}

// positiveRanks is the sum of the ranks by absolute value (ties share their
// mean rank) of the positive differences, and sum(t^3 - t) over groups of t
// tied values.
func positiveRanks(differences []float64) (v, ties float64) {
	slices.SortFunc(differences, func(a, b float64) int {
		switch x, y := math.Abs(a), math.Abs(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for from := 0; from < len(differences); {
		to := from + 1
		for to < len(differences) && math.Abs(differences[to]) == math.Abs(differences[from]) {
			to++
		}
		rank := float64(from+1+to) / 2
		for _, d := range differences[from:to] {
			if d > 0 {
				v += rank
			}
		}
		tied := float64(to - from)
		ties += tied*tied*tied - tied
		from = to
	}
	return v, ties
}

// signedRankExact counts the subsets of the ranks 1..n by their sum.
func signedRankExact(v, n int) float64 {
	most := n * (n + 1) / 2
	subsets := make([]float64, most+1)
	subsets[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := most; sum >= rank; sum-- {
			subsets[sum] += subsets[sum-rank]
		}
	}
	var tail float64
	for _, count := range subsets[:min(v, most-v)+1] {
		tail += count
	}
	return min(1, 2*tail/math.Exp2(float64(n)))
}

func signedRankNormal(v, ties, n float64) float64 {
	difference := math.Abs(v - n*(n+1)/4)
	if difference == 0 {
		return 1
	}
	variance := n*(n+1)*(2*n+1)/24 - ties/48
	return min(1, 2*normalTail((difference-0.5)/math.Sqrt(variance)))
}
