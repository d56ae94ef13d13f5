package correlate

import (
	"fmt"
	"math"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/correlate/stats"
	"github.com/corewait/corewait/domain"
)

// supportedPower is the power at which the smallest detectable ratio is stated.
const supportedPower = 0.8

// detectable gives the smallest rate ratio that this much data could have shown.
func (c *coincidence) detectable(prm Params) float64 {
	n := c.a + c.b
	if n == 0 {
		return math.NaN()
	}
	return stats.DetectableRatio(n, c.expected/float64(n), prm.SupportedP, supportedPower)
}

// attributable gives the share of stalls that exposure accounts for, beyond
// what the same load and time would show anyway: (p - p0)/(1 - p0). Placement
// that is a snapshot mixes the two groups and shrinks that difference by kappa,
// so it is divided by kappa (at most 1).
func (c *coincidence) attributable() (share, low, high float64) {
	n := c.a + c.b
	if n == 0 || c.expected >= float64(n) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	base := c.expected / float64(n)
	lo, hi := stats.BinomialInterval(c.a, n, 0.95)
	scale := 1.0
	if c.kappa > 0 && c.kappa < 1 {
		scale = c.kappa
	}
	at := func(p float64) float64 { return min(1, excessShare(p, base)/scale) }
	return at(float64(c.a) / float64(n)), at(lo), at(hi)
}

// judgement is one cause with what the overall verdict needs of it.
type judgement struct {
	domain.Cause
	explained []bool // by stall
	low       float64
}

func unseenCause(cause, format string, args ...any) judgement {
	return judgement{Cause: domain.Cause{Cause: cause, Verdict: domain.NotObservable, Evidence: []string{fmt.Sprintf(format, args...)}}}
}

// judgeInterrupts applies step 8 of the method to the interrupt test.
func judgeInterrupts(c *coincidence, set *stallSet, prm Params, loc *locationContrast) judgement {
	j := judgement{Cause: domain.Cause{Cause: domain.CauseInterrupts}, explained: make([]bool, len(set.stalls)), low: math.NaN()}
	for i, v := range c.visit {
		j.explained[i] = v >= 0 && c.level[v] == levelHeavy
	}
	share, low, high := c.attributable()
	j.low = low
	j.AttributableShare, j.AttributableCI = number(share), [2]*float64{number(low), number(high)}
	j.Verdict, j.Evidence = c.verdict(prm, loc)
	return j
}

func (c *coincidence) verdict(prm Params, loc *locationContrast) (verdict string, evidence []string) {
	say := func(format string, args ...any) { evidence = append(evidence, fmt.Sprintf(format, args...)) }
	n := c.a + c.b
	heavyShare := c.ta / (c.ta + c.tb)
	say("%d of %d stalls while on a heavy CPU; %.1f expected at the same load and time (p = %.2g)", c.a, n, c.expected, c.pValue)
	if !math.IsNaN(c.stratified.Value) {
		say("stratified ratio %s (95 %% interval %s to %s)", ratioText(c.stratified.Value), ratioText(c.stratified.Low), ratioText(c.stratified.High))
	}
	if !math.IsNaN(c.trendP) {
		say("stalls rise with the CPU's dose: p = %.2g%s", c.trendP, withinText(c.socketP))
	}
	switch {
	case n < prm.MinStalls:
		say("too few placed stalls to judge (%d, at least %d)", n, prm.MinStalls)
		return domain.Inconclusive, evidence
	case !(c.kappa >= prm.CoarseKappa) && heavyShare > 0 && heavyShare < 1:
		say("placement samples are too coarse: agreement between a sample and the instant it stands for is %.2f, under %.2f", c.kappa, prm.CoarseKappa)
		return domain.Inconclusive, evidence
	case heavyShare < prm.ExposedLow || heavyShare > prm.ExposedHigh:
		say("%s of the time is exposed: only the contrast of dose counts", percent(heavyShare))
		return c.doseVerdict(prm), evidence
	case c.placeboBig:
		say("stalls shifted in time show an excess of similar size (p = %.2g): something else than the instant is at work", c.placeboP)
		return domain.Inconclusive, evidence
	case c.meets(prm):
		if loc.alike {
			say("light CPUs of the same socket stall as often: the interrupts are not distinguished from the socket")
			return domain.Inconclusive, evidence
		}
		if !loc.observable && !(c.socketP <= 0.05) {
			say("the heavy CPUs are the whole socket and no contrast of dose within it is shown: not distinguished from the socket itself")
		}
		return domain.Supported, evidence
	case c.stratified.High < prm.RejectedRatio && c.kappa >= prm.RejectedKappa:
		return domain.Rejected, evidence
	}
	if r := c.detectable(prm); !math.IsInf(r, 0) && !math.IsNaN(r) {
		say("this much data could have shown a ratio of %.1f and more (power %.0f %%)", r, 100*supportedPower)
	}
	return domain.Inconclusive, evidence
}

func (c *coincidence) meets(prm Params) bool {
	return c.pValue <= prm.SupportedP && c.stratified.Low >= prm.SupportedRatio && c.a >= prm.SupportedStalls && c.visitsA >= prm.SupportedVisits
}

// doseVerdict judges by the trend of dose alone.
func (c *coincidence) doseVerdict(prm Params) string {
	if c.trendP <= prm.SupportedP && c.a >= prm.SupportedStalls && c.visitsA >= prm.SupportedVisits && !c.placeboBig {
		return domain.Supported
	}
	return domain.Inconclusive
}

func withinText(p float64) string {
	if math.IsNaN(p) {
		return ""
	}
	return fmt.Sprintf("; within its socket p = %.2g", p)
}

func ratioText(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "infinite"
	case math.IsNaN(v):
		return "unknown"
	}
	return fmt.Sprintf("%.1f", v)
}

// explainsMost says whether the cause accounts for most stalls: at least half
// by the estimate and a third by its lower end; by its lower end at least half
// where another cause that is not rejected has a part of its own beyond chance
// (docs/adr/0004). The socket counts the heavy CPUs' stalls as well, so it is no
// such part beside interrupts: their contrast decides between the two.
func (j *judgement) explainsMost(all []judgement, prm Params) bool {
	low := prm.MainLow
	for i := range all {
		o := &all[i]
		same := o.Cause.Cause == j.Cause.Cause || o.Cause.Cause == domain.CauseCPULocation && j.Cause.Cause == domain.CauseInterrupts
		if !same && o.Verdict != domain.Rejected && o.AttributableShare != nil && *o.AttributableShare > prm.RivalShare && o.low > 0 {
			low = prm.MainShare
		}
	}
	return j.AttributableShare != nil && *j.AttributableShare >= prm.MainShare && j.low >= low
}

// overall picks the cause that explains most of the stalls and beside which no
// other explains more than a quarter of the same ones.
func overall(js []judgement, prm Params) (verdict string, mixed []string) {
	mixed = []string{}
	var supported []*judgement
	for i := range js {
		if js[i].Verdict == domain.Supported {
			supported = append(supported, &js[i])
		}
	}
	var winner *judgement
	for _, j := range supported {
		if j.explainsMost(js, prm) && !spoiled(j, supported, prm) {
			if winner != nil {
				winner = nil
				break
			}
			winner = j
		}
	}
	if winner != nil {
		return winner.Cause.Cause, mixed
	}
	for _, j := range supported {
		mixed = append(mixed, j.Cause.Cause)
	}
	return domain.Undetermined, mixed
}

// spoiled says whether another supported cause explains more than RivalShare
// of the stalls that j explains.
func spoiled(j *judgement, supported []*judgement, prm Params) bool {
	for _, o := range supported {
		if o == j {
			continue
		}
		mine, both := 0, 0
		for i := range j.explained {
			if j.explained[i] {
				mine++
				if i < len(o.explained) && o.explained[i] {
					both++
				}
			}
		}
		if mine > 0 && float64(both) > prm.RivalShare*float64(mine) {
			return true
		}
	}
	return false
}

// locationContrast compares stalls per second on the light CPUs of sockets that
// hold heavy ones with those on light CPUs elsewhere, and with the heavy ones.
type locationContrast struct {
	observable bool
	alike      bool // the socket's light CPUs stall about as often as its heavy ones
	judgement  judgement
}

func newLocationContrast(s *series.Series, c *coincidence, set *stallSet, prm Params) *locationContrast {
	loc := &locationContrast{judgement: judgement{explained: make([]bool, len(set.stalls)), low: math.NaN()}}
	loc.judgement.Cause.Cause = domain.CauseCPULocation
	group := c.locationGroups(s)
	var n [3]float64
	var sec [3]float64
	for i, v := range c.p.visits {
		if g := group[i]; g >= 0 {
			sec[g] += v.Seconds()
		}
	}
	visits := map[int32]bool{}
	for i, v := range c.visit {
		if v < 0 || group[v] < 0 {
			continue
		}
		n[group[v]]++
		if group[v] != locElsewhere {
			loc.judgement.explained[i] = true
		}
		if group[v] == locLight {
			visits[v] = true
		}
	}
	j := &loc.judgement
	if sec[locHeavy] == 0 || sec[locLight] < 0.01*(sec[0]+sec[1]+sec[2]) || sec[locElsewhere] == 0 {
		j.Verdict = domain.NotObservable
		j.Evidence = []string{"no time on light CPUs of a socket that has heavy ones, beside time elsewhere: the socket cannot be told from its interrupts"}
		return loc
	}
	loc.observable = true
	light := stats.RateRatioExact(n[locLight], sec[locLight], n[locElsewhere], sec[locElsewhere])
	heavy := stats.RateRatioExact(n[locHeavy], sec[locHeavy], n[locLight], sec[locLight])
	loc.alike = n[locLight] > 0 && heavy.Value < 2 && !(heavy.Low > 1)
	j.Evidence = []string{
		fmt.Sprintf("light CPUs of the same socket stall %s times as often as those of other sockets (95 %% interval %s to %s)", ratioText(light.Value), ratioText(light.Low), ratioText(light.High)),
		fmt.Sprintf("heavy CPUs stall %s times as often as light ones of the same socket (95 %% interval %s to %s)", ratioText(heavy.Value), ratioText(heavy.Low), ratioText(heavy.High)),
	}
	loc.judge(n, sec, light, heavy, len(visits), prm)
	return loc
}

func (loc *locationContrast) judge(n, sec [3]float64, light, heavy stats.Ratio, visits int, prm Params) {
	j := &loc.judgement
	total := int(n[0] + n[1] + n[2])
	in := int(n[locHeavy] + n[locLight])
	base := (sec[locHeavy] + sec[locLight]) / (sec[0] + sec[1] + sec[2])
	if total > 0 && base < 1 {
		lo, hi := stats.BinomialInterval(in, total, 0.95)
		share := excessShare(float64(in)/float64(total), base)
		j.low = excessShare(lo, base)
		j.AttributableShare = number(share)
		j.AttributableCI = [2]*float64{number(j.low), number(excessShare(hi, base))}
	}
	switch {
	case loc.alike && light.Low >= prm.SupportedRatio && visits >= prm.SupportedVisits && total >= prm.SupportedStalls:
		j.Verdict = domain.Supported
	case light.High < prm.SupportedRatio || heavy.Low >= prm.SupportedRatio:
		j.Verdict = domain.Rejected
	default:
		j.Verdict = domain.Inconclusive
	}
}

// Groups of time for the location contrast.
const (
	locElsewhere = 0
	locLight     = 1 // light CPU, light sibling, in a socket that has heavy CPUs
	locHeavy     = 2
)

// locationGroups gives the group of each visit, -1 for what fits none: sibling
// exposure, unknown socket.
func (c *coincidence) locationGroups(s *series.Series) []int {
	sockets := make([]map[int]bool, len(c.pic.segments)) // sockets with heavy CPUs, by segment
	for k, seg := range c.pic.segments {
		sockets[k] = map[int]bool{}
		for cpu, h := range seg.heavy {
			if so := socketOf(s, []int32{int32(cpu)}); h && so >= 0 { //nolint:gosec // a CPU id
				sockets[k][so] = true
			}
		}
	}
	socketOfPlace := c.socketOfPlaces(s)
	group := make([]int, len(c.p.visits))
	for i, v := range c.p.visits {
		so := socketOfPlace[v.place]
		switch {
		case c.level[i] == levelHeavy:
			group[i] = locHeavy
		case c.level[i] == levelSibling || so < 0:
			group[i] = -1
		case sockets[c.pic.segmentAt(v.From)][so]:
			group[i] = locLight
		}
	}
	return group
}
