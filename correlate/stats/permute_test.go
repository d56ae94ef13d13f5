package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// prepared is NewPermutation for input that must be good.
func prepared(tb testing.TB, strata []int32, read []bool) *Permutation {
	tb.Helper()
	p, err := NewPermutation(strata, read)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// tested is Test for input that must be good.
func tested(
	t *testing.T, p *Permutation, rng *rand.Rand, rounds int, labels []int32, columns int, statistic func([]int32, []float64),
) MaximumStatistic {
	t.Helper()
	result, err := p.Test(rng, rounds, labels, columns, statistic)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// items lays out two by two tables as items: stratum, label 1 for exposed, and
// whether the item is a case.
func items(tables []Table) (strata, labels []int32, cases []bool) {
	for s, table := range tables {
		for _, cell := range []struct {
			n      float64
			label  int32
			isCase bool
		}{{table.A, 1, true}, {table.B, 1, false}, {table.C, 0, true}, {table.D, 0, false}} {
			for range int(cell.n) {
				strata = append(strata, int32(s))
				labels = append(labels, cell.label)
				cases = append(cases, cell.isCase)
			}
		}
	}
	return strata, labels, cases
}

// exposedCases is the statistic that counts cases with label 1.
func exposedCases(cases []bool) func([]int32, []float64) {
	return func(labels []int32, out []float64) {
		for i, isCase := range cases {
			if isCase && labels[i] == 1 {
				out[0]++
			}
		}
	}
}

func TestPermutationOfCountsIsTheExactTest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tables []Table
		want   float64
	}{
		"one stratum, Fisher's exact test: 17/70": {[]Table{{3, 1, 1, 3}}, 17.0 / 70},
		"R: mantelhaen.test(array(c(2,5,3,6,4,1,8,9,1,7,2,12), c(2,2,3)), exact=T, alternative=\"greater\")": {
			[]Table{{2, 3, 5, 6}, {4, 8, 1, 9}, {1, 2, 7, 12}}, 0.375634174438,
		},
		"R: mantelhaen.test(array(c(6,2,3,9,4,1,3,9,3,4,2,12), c(2,2,3)), exact=T, alternative=\"greater\")": {
			[]Table{{6, 3, 2, 9}, {4, 3, 1, 9}, {3, 2, 4, 12}}, 0.00143061644449,
		},
	}
	const rounds = 100_000
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strata, labels, cases := items(test.tables)
			tolerance := 4 * math.Sqrt(test.want*(1-test.want)/rounds)
			for readers, read := range map[string][]bool{"all labels read": nil, "only those of cases read": cases} {
				got := tested(t, prepared(t, strata, read), seeded(6, 1), rounds, labels, 1, exposedCases(cases))
				if math.Abs(got.P[0]-test.want) > tolerance {
					t.Errorf("%s: got p = %.5f, want %.5f within %.5f", readers, got.P[0], test.want, tolerance)
				}
			}
		})
	}
}

// arrangement names the labels that are read; it fails where one has left its
// stratum. Labels are those of the items they started at.
func arrangement(t *testing.T, labels, strata []int32, read []bool) string {
	t.Helper()
	var name strings.Builder
	for i, l := range labels {
		if strata[l] != strata[i] {
			t.Fatalf("label %d moved to another stratum: %v", l, labels)
		}
		if len(read) == 0 || read[i] {
			name.WriteString(strconv.Itoa(int(l)))
		}
	}
	return name.String()
}

func TestShuffleDrawsEveryArrangementEquallyOften(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		strata       []int32
		read         []bool
		arrangements int
	}{
		"four items":                         {[]int32{5, 5, 5, 5}, nil, 24},
		"two strata, interleaved":            {[]int32{1, -2, 1, -2, 1}, nil, 12},
		"two of four read":                   {[]int32{0, 0, 0, 0}, []bool{false, true, false, true}, 12},
		"an item alone in its stratum stays": {[]int32{0, 0, 0, 9}, nil, 6},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, rng := prepared(t, test.strata, test.read), seeded(11, 7)
			labels := make([]int32, len(test.strata))
			counts := map[string]int{}
			draws := 2000 * test.arrangements
			for range draws {
				// From one start each time: a biased shuffle, repeated, mixes too.
				for i := range labels {
					labels[i] = int32(i)
				}
				p.Shuffle(rng, labels)
				counts[arrangement(t, labels, test.strata, test.read)]++
			}
			if len(counts) != test.arrangements {
				t.Fatalf("got %d arrangements, want %d", len(counts), test.arrangements)
			}
			var chi float64
			for _, n := range counts {
				chi += float64(n-2000) * float64(n-2000) / 2000
			}
			if got := newChiSquared(chi, test.arrangements-1); got.P < 1e-4 {
				t.Errorf("counts %v are not uniform: p = %v", counts, got.P)
			}
		})
	}
}

func TestMovableCountsWhatCanChange(t *testing.T) {
	t.Parallel()
	strata := []int32{0, 0, 0, 1, 1, 2, 3, 3}
	p := prepared(t, strata, []bool{true, false, true, true, true, true, false, false})
	tests := map[string]struct {
		labels []int32
		want   int
	}{
		"two read items beside another label": {[]int32{1, 0, 1, 1, 1, 0, 0, 1}, 2},
		"both strata mixed":                   {[]int32{1, 0, 1, 0, 1, 0, 0, 1}, 4},
		"one label throughout":                {[]int32{1, 1, 1, 1, 1, 1, 1, 1}, 0},
		"labels of another length":            {[]int32{1, 0}, 0},
	}
	for name, test := range tests {
		if got := p.Movable(test.labels); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}

func TestPermutationPIsUniformUnderTheNull(t *testing.T) {
	t.Parallel()
	const series, rounds = 2000, 99
	rng := seeded(2, 71)
	strata, labels, x := make([]int32, 60), make([]int32, 60), make([]float64, 60)
	deciles := make([]float64, 10)
	for range series {
		for i := range strata {
			strata[i] = int32(i / 20)
			labels[i] = rng.Int32N(2)
			x[i] = rng.NormFloat64() + float64(strata[i]) // continuous: no ties
		}
		got := tested(t, prepared(t, strata, nil), rng, rounds, labels, 1, func(labels []int32, out []float64) {
			for i, l := range labels {
				out[0] += float64(l) * x[i]
			}
		})
		deciles[int(math.Round(got.P[0]*100)-1)/10]++
	}
	var chi float64
	for _, n := range deciles {
		chi += (n - series/10) * (n - series/10) / (series / 10)
	}
	if got := newChiSquared(chi, 9); got.P < 0.001 {
		t.Errorf("p-values by decile: %v, chi-squared %.1f", deciles, chi)
	}
}

// correlatedColumns is a statistic of many columns: the standardised difference
// of means of column c between label 1 and label 0.
func correlatedColumns(x [][]float64) func([]int32, []float64) {
	return func(labels []int32, out []float64) {
		for c, column := range x {
			for i, l := range labels {
				out[c] += float64(2*l-1) * column[i]
			}
		}
	}
}

func TestFamilyPHoldsTheLevelOverManyColumns(t *testing.T) {
	t.Parallel()
	const series, rounds, columns, n = 600, 99, 12, 40
	rng := seeded(3, 3)
	anyAlone, anyFamily, planted := 0, 0, 0
	for range series {
		strata, labels := make([]int32, n), make([]int32, n)
		x := make([][]float64, columns)
		for c := range x {
			x[c] = make([]float64, n)
		}
		for i := range labels {
			labels[i] = int32(i % 2)
			common := rng.NormFloat64()
			for c := range x {
				x[c][i] = 0.5*common + rng.NormFloat64()
			}
		}
		p := prepared(t, strata, nil)
		null := tested(t, p, rng, rounds, labels, columns, correlatedColumns(x))
		if slices.Min(null.P) <= 0.05 {
			anyAlone++
		}
		if slices.Min(null.FamilyP) <= 0.05 {
			anyFamily++
		}
		for c := range null.P {
			if null.FamilyP[c] < null.P[c] {
				t.Fatalf("column %d: family p %v is under its own %v", c, null.FamilyP[c], null.P[c])
			}
		}
		for i, l := range labels {
			x[7][i] += 1.8 * float64(l)
		}
		if tested(t, p, rng, rounds, labels, columns, correlatedColumns(x)).FamilyP[7] <= 0.05 {
			planted++
		}
	}
	size, uncorrected, power := float64(anyFamily)/series, float64(anyAlone)/series, float64(planted)/series
	t.Logf("any false alarm: %.3f by family p, %.3f by single p; planted column found: %.3f", size, uncorrected, power)
	if size > 0.075 {
		t.Errorf("family-wise size: got %.3f, want at most 0.075 at nominal 0.05", size)
	}
	if uncorrected < 0.2 {
		t.Errorf("single p-values: got %.3f false alarms; the test shows nothing", uncorrected)
	}
	if power < 0.9 {
		t.Errorf("power: got %.3f, want at least 0.9", power)
	}
}

func TestPermutationOfDegenerateInput(t *testing.T) {
	t.Parallel()
	rng := seeded(1, 1)
	count := func(labels []int32, out []float64) {
		for _, l := range labels {
			out[0] += float64(l) * 0.1
		}
		out[1] = math.NaN()
		out[2] = math.Inf(1)
	}
	labels := []int32{1, 0, 1, 1, 0, 1, 1}
	got := tested(t, prepared(t, make([]int32, len(labels)), nil), rng, 50, labels, 3, count)
	if got.P[0] != 1 {
		t.Errorf("a statistic that no shuffle changes: got p = %v, want 1", got.P[0])
	}
	if !math.IsNaN(got.P[1]) || !math.IsNaN(got.FamilyP[1]) {
		t.Errorf("an unknown statistic: got p = %v and %v, want NaN", got.P[1], got.FamilyP[1])
	}
	if got.P[2] != 1 || got.FamilyP[2] != 1 {
		t.Errorf("an infinite statistic in every round: got p = %v, want 1", got.P[2])
	}
	if !slices.Equal(labels, []int32{1, 0, 1, 1, 0, 1, 1}) {
		t.Errorf("the caller's labels were changed: %v", labels)
	}
	empty := tested(t, prepared(t, nil, nil), rng, 9, nil, 1, func([]int32, []float64) {})
	if empty.P[0] != 1 {
		t.Errorf("no items: got p = %v, want 1", empty.P[0])
	}
}

func TestPermutationRefusesUnusableInput(t *testing.T) {
	t.Parallel()
	if _, err := NewPermutation(make([]int32, 3), make([]bool, 2)); err == nil {
		t.Error("read flags of another length: no error")
	}
	p := prepared(t, make([]int32, 3), nil)
	rng := seeded(1, 1)
	for name, try := range map[string]struct{ labels, rounds, columns int }{
		"labels of another length": {2, 10, 1},
		"no rounds":                {3, 0, 1},
		"no columns":               {3, 10, 0},
	} {
		if _, err := p.Test(rng, try.rounds, make([]int32, try.labels), try.columns, func([]int32, []float64) {}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTiesThatRoundingHidesAreTies(t *testing.T) {
	t.Parallel()
	// Sums of tenths differ in the last bit by the order of summing, which is
	// here the order of the labels: as numbers they are all the same.
	labels := []int32{1, 2, 3, 4, 5, 6, 7}
	got := tested(t, prepared(t, make([]int32, 7), nil), seeded(9, 9), 500, labels, 1,
		func(labels []int32, out []float64) {
			for _, l := range labels {
				out[0] += 0.1 * float64(l)
			}
		})
	if got.P[0] != 1 {
		t.Errorf("got p = %v, want 1", got.P[0])
	}
}
