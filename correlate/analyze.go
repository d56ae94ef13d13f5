package correlate

import (
	"fmt"
	"math"
	"slices"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// Analyze runs the method over the series of one node and instance. It never
// fails: what data cannot carry is said in the finding.
func Analyze(s *series.Series, prm Params) *domain.Finding {
	f := &domain.Finding{
		Schema: domain.AnalysisSchema, Node: s.Node, Instance: s.Instance, Watch: s.Watch.Name, Grade: "B",
		Window: domain.Window{From: series.ToTime(s.Window.From), To: series.ToTime(s.Window.To)},
		Mixed:  []string{}, Warnings: append([]string{}, s.Warnings...), NextSteps: []string{}, Params: prm,
	}
	p := newPath(s.Threads, s.Window)
	pic := newPicture(s, p, prm)
	set := findStalls(s, prm)
	if text := set.unreadText(); text != "" {
		f.Warnings = append(f.Warnings, text)
	}
	shared := set.leaveShared(s, prm)
	l := newLoad(s, prm)
	if l.name != "" {
		f.LoadSeries = &l.name
	}
	f.Interrupts = pic.describe(s, prm)
	f.Waits = set.describe(s.Watch.Events[0], prm)

	var c *coincidence
	if len(p.visits) > 0 && pic.observable() && len(set.stalls) > 0 {
		c = newCoincidence(s, p, pic, set, l, prm)
		f.Coincidence = c.describe(prm)
	}
	f.StallList = listStalls(set, c)
	f.Placement = describePlacement(s, p, pic)
	f.Coverage = coverage(s, p, pic, set, c)
	f.Decomposed = decompose(s, set, pic)
	if gradeA(f.Decomposed) {
		f.Grade = "A"
	}
	js := judgeAll(s, p, pic, set, c, prm)
	addShared(js, shared)
	for i := range js {
		f.Causes = append(f.Causes, js[i].Cause)
	}
	f.Verdict, f.Mixed = overall(js, prm)
	if f.Verdict == domain.Undetermined && len(f.Mixed) == 0 && missing(s.Watch, p, pic, set, prm) != "" {
		f.Verdict = domain.InsufficientData
	}
	f.Headline = headline(f, missing(s.Watch, p, pic, set, prm))
	f.NextSteps = nextSteps(f)
	return f
}

// judgeAll judges every cause of the contract, in its order.
func judgeAll(s *series.Series, p *path, pic *picture, set *stallSet, c *coincidence, prm Params) []judgement {
	by := map[string]judgement{}
	put := func(j judgement) { by[j.Cause.Cause] = j }
	indicated(s, set, c, prm, put)
	switch {
	case c != nil:
		loc := newLocationContrast(s, c, set, prm)
		put(judgeInterrupts(c, set, prm, loc))
		put(loc.judgement)
	default:
		put(unseenCause(domain.CauseInterrupts, "%s", missing(s.Watch, p, pic, set, prm)))
		put(unseenCause(domain.CauseCPULocation, "%s", missing(s.Watch, p, pic, set, prm)))
	}
	put(unseenCause(domain.CauseRTPreemption, "needs the CPU and policy of LMS, VKTM and other real-time tasks beside LGWR's, many times a second"))
	put(unseenCause(domain.CausePostPollSwitch, "needs the LGWR trace (\"Log file sync switching to ...\")"))
	storageByOwnWrites(by, s, set, c, prm)
	order := []string{
		domain.CauseInterrupts, domain.CauseStorage, domain.CauseCPUSaturation, domain.CauseCPUSteal, domain.CauseSwapping,
		domain.CauseRTPreemption, domain.CauseCPULocation, domain.CauseRACAck, domain.CauseDataGuard, domain.CauseForegroundWakeup,
		domain.CausePostPollSwitch, domain.CauseLogSwitch,
	}
	js := make([]judgement, 0, len(order))
	for _, name := range order {
		js = append(js, by[name])
	}
	return js
}

// indicated judges the rivals that an indicator shows.
func indicated(s *series.Series, set *stallSet, c *coincidence, prm Params, put func(judgement)) {
	needs := map[string]string{
		domain.CauseStorage:       "needs the devices' await: iostat -xt 1 or a log of /proc/diskstats",
		domain.CauseCPUSaturation: "needs run queue and system time: vmstat -t 1 or a log of /proc/stat",
		domain.CauseCPUSteal:      "needs steal time: vmstat -t 1 or mpstat -P ALL",
		domain.CauseSwapping:      "needs swap rates: vmstat -t 1",
	}
	for cause, need := range needs {
		put(unseenCause(cause, "%s", need))
	}
	stream := uint64(100)
	judge := func(d *indicator) {
		stream++
		r := d.judge(set, prm, newRand(prm.Seed, stream))
		put(judgement{Cause: r.cause, explained: r.explained, low: r.low})
	}
	for _, d := range indicators(s, prm) {
		d.placement = c
		judge(d)
	}
	for _, e := range eventRivals() {
		put(unseenCause(e.cause, "needs %s", e.need))
		if d := e.indicator(s, prm); d != nil {
			judge(d)
		}
	}
}

// storageByOwnWrites weighs LGWR's own write waits. It times them itself, so
// time stolen from it inflates them: slow only while exposed, with normal
// devices, they are a mediator; slow in exposed and unexposed stalls alike they
// accuse storage; fast in stalls they clear it.
func storageByOwnWrites(by map[string]judgement, s *series.Series, set *stallSet, c *coincidence, prm Params) {
	own := newOwnWrites(s, set)
	j := by[domain.CauseStorage]
	if !own.seen || len(set.stalls) == 0 {
		return
	}
	share := own.share()
	text := fmt.Sprintf("%s itself waited for its write (%s) in %s of the stalls", processName(s), s.Watch.OwnWait, percent(share))
	if c != nil {
		if e, u := own.shares(c); !math.IsNaN(e) && !math.IsNaN(u) {
			text += fmt.Sprintf(" (%s of the exposed, %s of the unexposed)", percent(e), percent(u))
		}
	}
	j.Evidence = append(j.Evidence, text)
	devices := j.Verdict != domain.NotObservable
	in := by[domain.CauseInterrupts]
	switch {
	case devices && j.Verdict == domain.Rejected && share >= 0.5:
		j.Evidence = append(j.Evidence, "the devices were quick meanwhile: the write waits are inflated by whatever held the process up")
	case devices && (j.Verdict != domain.Supported || in.Verdict == domain.Supported):
	case !devices && share < 0.1:
		j.Verdict = domain.Rejected
		j.Evidence = []string{text, "its writes were quick in the stalls: storage is cleared"}
	case !devices && in.Verdict == domain.Supported:
		j.Verdict = domain.Inconclusive
		j.Evidence = append(j.Evidence, "time stolen from the process inflates these waits; the devices' own await would tell")
	case own.accuse(c, by, prm):
		// Few hung requests among many leave a device's mean await low, so the
		// process' own waits count the stalls better than the mean does.
		j.Verdict = domain.Supported
		j.explained, j.low = own.slow, ownLow(own, len(set.stalls))
		j.AttributableShare, j.AttributableCI = number(share), [2]*float64{number(j.low), nil}
		j.Evidence = append(j.Evidence, "slow in exposed and unexposed stalls alike")
	case !devices:
		j.Verdict = domain.Inconclusive
	}
	by[domain.CauseStorage] = j
}

func processName(s *series.Series) string {
	if len(s.Threads) > 0 {
		main, _ := splitThreads(s.Threads)
		return main.Command
	}
	return "the watched process"
}

// missing says what the interrupt test lacks, "" where nothing.
func missing(watch domain.Watch, p *path, pic *picture, set *stallSet, prm Params) string {
	var need []string
	if set.source == "" {
		need = append(need, "waits (ASH rows or histograms of "+watch.Events[0]+")")
	}
	if len(p.visits) == 0 {
		need = append(need, "the process' placement (pidstat -t -p PID 1)")
	}
	if !pic.observable() {
		need = append(need, "interrupts per CPU (two or more timed readings of /proc/interrupts)")
	}
	switch {
	case len(need) > 0:
		return "missing: " + joinAnd(need)
	case len(set.stalls) < prm.MinStalls && set.blind():
		return fmt.Sprintf("%s (beside them %d stalls over %v were found, at least %d are needed)", set.unreadText(), len(set.stalls), prm.Threshold, prm.MinStalls)
	case len(set.stalls) < prm.MinStalls && set.unplaced > 0:
		return fmt.Sprintf("%d stalls lie in histogram intervals too long to place them (2 s at most)", set.unplaced)
	case len(set.stalls) < prm.MinStalls:
		return fmt.Sprintf("only %d stalls over %g ms in the window, at least %d are needed", len(set.stalls), float64(prm.Threshold)/1e6, prm.MinStalls)
	}
	return ""
}

func coverage(s *series.Series, p *path, pic *picture, set *stallSet, c *coincidence) domain.Coverage {
	cov := domain.Coverage{
		PlacementSeconds: round1(p.seconds()), InterruptSeconds: round1(pic.seconds), Waits: set.waits, UnplacedStalls: set.unplaced,
		Notes: append([]string{}, s.Notes...),
	}
	cov.Notes = append(cov.Notes, set.notes...)
	if s.Topology.CoresInferred {
		cov.Notes = append(cov.Notes, "cores and siblings are inferred from the order of CPU numbers (lscpu -p or -e would tell them)")
	}
	if set.source != "" {
		cov.WaitSource = &set.source
	}
	if c != nil {
		cov.UnplacedStalls += c.unplaced
		cov.Kappa = number(c.kappa)
		if c.p.uncertainty > 0 {
			cov.Notes = append(cov.Notes, fmt.Sprintf("placement carries whole seconds: its readings fit best %s, which the p-value takes into account", offsetText(c.offset)))
		}
	}
	if set.slowTicks > 0 {
		cov.Notes = append(cov.Notes, fmt.Sprintf("%d ASH samples came over 1.5 s after the one before: a sign of CPU saturation", set.slowTicks))
	}
	if gaps := gapSeconds(p); gaps > 0 {
		cov.Notes = append(cov.Notes, fmt.Sprintf("placement has gaps of %.0f s in all", gaps))
	}
	return cov
}

func offsetText(o [2]series.Micros) string {
	d := func(m series.Micros) string {
		return fmt.Sprintf("%+.2f s", float64(m)/float64(series.Second))
	}
	if o[0] == o[1] {
		return "taken " + d(o[0]) + " from the time printed"
	}
	return "taken " + d(o[0]) + " from the time printed at the begin, " + d(o[1]) + " at the end"
}

func gapSeconds(p *path) float64 {
	var s float64
	for i := 1; i < len(p.visits); i++ {
		s += float64(p.visits[i].From-p.visits[i-1].To) / float64(series.Second)
	}
	return s
}

func round1(v float64) float64 { return math.Round(v*10) / 10 }

// describePlacement renders where the process was.
func describePlacement(s *series.Series, p *path, pic *picture) *domain.Residence {
	if len(p.visits) == 0 {
		return nil
	}
	r := &domain.Residence{Processes: p.commands, Visits: len(p.visits), Residence: []domain.CPUShare{}}
	on := map[int]float64{}
	total, byPlace := p.seconds(), p.secondsByPlace()
	for i, cpus := range p.places {
		for _, c := range cpus {
			on[int(c)] += byPlace[i] / total / float64(len(cpus))
		}
	}
	for c, share := range on {
		r.Residence = append(r.Residence, domain.CPUShare{CPU: c, Share: share})
	}
	slices.SortFunc(r.Residence, func(a, b domain.CPUShare) int { return a.CPU - b.CPU })
	if pic.observable() {
		e := newExposure(s, p, pic)
		heavy, sibling := e.shares(p, pic)
		r.HeavyShare = number(heavy)
		if slices.ContainsFunc(s.Topology.CPUs, func(c domain.CPU) bool { return c.Core >= 0 }) {
			r.SiblingShare = number(sibling) // else siblings are unknown
		}
		var dose float64
		for i, seconds := range byPlace {
			dose += e.dose[i] * seconds / total
		}
		r.DosePerS = number(dose)
	}
	if total > 0 {
		r.MigrationsPerS = number(float64(migrations(p)) / total)
	}
	return r
}

// migrations counts moves seen between samples that follow each other.
func migrations(p *path) int {
	n := 0
	for i := 1; i < len(p.visits); i++ {
		if p.visits[i].From == p.visits[i-1].To {
			n++
		}
	}
	return n
}

func joinAnd(s []string) string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return s[0]
	}
	out := s[0]
	for _, x := range s[1 : len(s)-1] {
		out += ", " + x
	}
	return out + " and " + s[len(s)-1]
}

// listStalls renders the stalls one by one, for a reader who wants to check.
func listStalls(set *stallSet, c *coincidence) []domain.StallMark {
	out := make([]domain.StallMark, 0, min(len(set.stalls), domain.ListedStalls))
	for i := range set.stalls[:min(len(set.stalls), domain.ListedStalls)] {
		k := &set.stalls[i]
		m := domain.StallMark{At: series.ToTime(k.at), LongestMS: float64(k.longest) / 1000, Waiters: k.waiters, CPUs: []int{}, Exposure: "unknown"}
		if k.shared {
			m.Exposure = "shared"
		}
		if c != nil && c.visit[i] >= 0 {
			v := c.visit[i]
			m.Exposure = [...]string{levelLight: "light", levelSibling: "sibling", levelHeavy: "heavy"}[c.level[v]]
			for _, cpu := range c.p.places[c.p.visits[v].place] {
				m.CPUs = append(m.CPUs, int(cpu))
			}
		}
		out = append(out, m)
	}
	return out
}
