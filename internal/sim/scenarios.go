package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/corewait/corewait/internal/refcase"
)

// Named is one scenario of a kind.
type Named struct {
	Name     string // kind/number, as "confounded-noisy/17"
	Kind     string
	Scenario refcase.Scenario
}

// Scenarios lists n scenarios: innocent and guilty ones by turns, beginning
// with an innocent one, and within each all kinds in rotation. The list of a
// smaller n is the beginning of that of a larger one.
func Scenarios(n int, seed uint64) []Named {
	list := make([]Named, 0, max(n, 0))
	for i := range n {
		kinds := innocent()
		if i%2 == 1 {
			kinds = guilty()
		}
		k := kinds[i/2%len(kinds)]
		//nolint:gosec // a simulation must repeat; nothing here is secret
		r := rand.New(rand.NewPCG(seed, uint64(i)*0x9e3779b97f4a7c15+1))
		s := base(r)
		k.shape(r, &s)
		list = append(list, Named{Name: fmt.Sprintf("%s/%d", k.name, i), Kind: k.name, Scenario: s})
	}
	return list
}

// base is an hour or so on some node, without a cause.
func base(r *rand.Rand) refcase.Scenario {
	machines := []refcase.Machine{
		{Sockets: 2, CoresPerSocket: 8, ThreadsPerCore: 2},
		{Sockets: 4, CoresPerSocket: 4, ThreadsPerCore: 2},
		{Sockets: 4, CoresPerSocket: 8, ThreadsPerCore: 2},
		{Sockets: 2, CoresPerSocket: 12, ThreadsPerCore: 1},
		{Sockets: 2, CoresPerSocket: 16, ThreadsPerCore: 2},
	}
	m := machines[r.IntN(len(machines))]
	hours := []float64{0.5, 1, 1, 1, 1.5}
	return refcase.Scenario{
		Seed: r.Uint64(), Node: "db1", Instance: "ORDP1",
		Start: time.Date(2026, time.May, 1+r.IntN(28), 9, r.IntN(60), 0, 0, time.FixedZone("KST", 9*60*60)),
		Hours: hours[r.IntN(len(hours))], Machine: m,
		Load: refcase.Load{
			CommitsPerS: logBetween(r, 400, 2000), Wave: between(r, 0, 0.3), WavePeak: r.Float64(),
			Wander: between(r, 0.1, 0.3), WanderSeconds: between(r, 30, 120),
			BurstsPerHour: between(r, 30, 120), BurstGain: between(r, 1.5, 3), Busy: between(r, 0.08, 0.2),
		},
		Interconnect: refcase.Interconnect{Socket: r.IntN(m.Sockets), LowPerS: between(r, 1050, 1600), HighPerS: between(r, 3000, 7000)},
		LGWR:         refcase.LGWR{Dwell: seconds(logBetween(r, 1, 5)), HeavyPull: between(r, 0.8, 1.6), WritesPerS: between(r, 400, 900)},
		Stalls: refcase.Stalls{
			Cause: refcase.CauseNone, Count: logBetween(r, 70, 300), Background: between(r, 2, 6),
			Min: 110 * time.Millisecond, Max: seconds(between(r, 0.4, 0.8)),
			WaitersMin: 3 + r.IntN(5), WaitersMax: 10 + r.IntN(50), SessionOnly: between(r, 0, 5),
		},
		Records: records(r),
	}
}

// records is what was collected: vmstat, pidstat and mpstat always; counters
// of the instance and iostat more often than not.
func records(r *rand.Rand) refcase.Records {
	every := []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second}
	rec := refcase.Records{
		Interrupts: every[r.IntN(len(every))], MPStat: 30 * time.Second, ASH: refcase.ASHFiltered,
		Cores: r.Float64() < 0.5, Bond: r.Float64() < 0.5,
	}
	if r.Float64() < 0.3 {
		rec.MPStat = 5 * time.Second
	}
	if r.Float64() < 0.35 {
		rec.ASH = refcase.ASHFull
	}
	if r.Float64() < 0.7 {
		rec.SysStat = 10 * time.Second
	}
	if r.Float64() < 0.7 {
		rec.IOStat = time.Second
	}
	return rec
}

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// logBetween draws evenly on a logarithmic scale.
func logBetween(r *rand.Rand, low, high float64) float64 {
	return low * math.Exp(r.Float64()*math.Log(high/low))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
