package refcase

import (
	"math"
	"math/rand/v2"
)

// loadSeries is the load of each second, with a mean of 1.
func loadSeries(r *rand.Rand, n int, l Load) []float64 {
	series := wander(r, n, l.Wander, l.WanderSeconds)
	for i := range series {
		series[i] += l.Wave * math.Cos(math.Pi*(float64(i)/float64(n)-l.WavePeak)*1.5)
	}
	addBursts(r, series, l)
	for i := range series {
		series[i] = math.Exp(series[i])
	}
	toMeanOne(series)
	return series
}

// addBursts raises the load for 1 to 6 s at a time.
func addBursts(r *rand.Rand, series []float64, l Load) {
	if l.BurstGain <= 1 {
		return
	}
	count := poisson(r, l.BurstsPerHour*float64(len(series))/3600)
	for range count {
		at, length := r.IntN(len(series)), intBetween(r, 1, 6)
		gain := math.Log(l.BurstGain) * between(r, 0.5, 1)
		for i := at; i < min(at+length, len(series)); i++ {
			series[i] += gain
		}
	}
}

// trafficSeries is what the interconnect carries each second, with a mean of
// 1: it follows the load, with movements of its own.
func trafficSeries(r *rand.Rand, load []float64) []float64 {
	series := wander(r, len(load), 0.12, 40)
	for i := range series {
		series[i] = load[i] * math.Exp(series[i])
	}
	toMeanOne(series)
	return series
}

// inverse is the series of interrupt rates of queues that poll: the more
// traffic, the longer a poll finds work and the fewer interrupts are raised.
func inverse(traffic []float64) []float64 {
	series := make([]float64, len(traffic))
	for i, x := range traffic {
		series[i] = 1 / max(x, 0.05)
	}
	toMeanOne(series)
	return series
}

// cumulate gives the integral of a per-second series from the start to the
// start of each second, so that any stretch is one subtraction.
func cumulate(series []float64) []float64 {
	sums := make([]float64, len(series)+1)
	for i, x := range series {
		sums[i+1] = sums[i] + x
	}
	return sums
}

// integral reads a cumulated series at an instant between its seconds.
func integral(sums []float64, t float64) float64 {
	last := len(sums) - 1
	if t <= 0 {
		return 0
	}
	if t >= float64(last) {
		return sums[last]
	}
	i := int(t)
	return sums[i] + (t-float64(i))*(sums[i+1]-sums[i])
}
