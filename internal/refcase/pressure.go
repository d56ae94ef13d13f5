package refcase

import (
	"math/rand/v2"

	"github.com/corewait/corewait/domain"
)

// episodes is how often and for how long something outside LGWR goes wrong.
type episodes struct {
	perHour, minSeconds, maxSeconds float64
}

// episodesOf gives the habit of each cause that comes in episodes. The numbers
// are of the order that incident reports tell: a storage path that is slow for
// some seconds, a connection storm of half a minute, a log switch every minute
// or two on undersized logs.
func episodesOf(cause string) (episodes, bool) {
	switch cause {
	case domain.CauseStorage:
		return episodes{14, 8, 40}, true
	case domain.CauseCPUSaturation:
		return episodes{8, 15, 60}, true
	case domain.CauseCPUSteal:
		return episodes{12, 10, 60}, true
	case domain.CauseSwapping:
		return episodes{10, 10, 60}, true
	case domain.CauseRACAck:
		return episodes{16, 8, 40}, true
	case domain.CauseDataGuard:
		return episodes{16, 8, 40}, true
	case domain.CauseLogSwitch:
		return episodes{50, 1, 2}, true
	}
	return episodes{}, false
}

// pressureSeries is how hard a cause presses in each second, 0 to 1.
func pressureSeries(r *rand.Rand, n int, e episodes) []float64 {
	series := make([]float64, n)
	count := max(poisson(r, e.perHour*float64(n)/3600), 3)
	for range count {
		length := int(logBetween(r, e.minSeconds, e.maxSeconds+1))
		at, height := r.IntN(n), between(r, 0.5, 1)
		ramp := min(3, float64(length)/4)
		for i := range length {
			if at+i >= n {
				break
			}
			edge := min(float64(i+1), float64(length-i))
			p := height
			if ramp > 0 {
				p = height * min(1, edge/(ramp+1))
			}
			series[at+i] = max(series[at+i], p)
		}
	}
	return series
}
