package correlate

import (
	"math"
	"slices"
	"sort"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/correlate/stats"
	"github.com/corewait/corewait/domain"
)

// Dose measures, by preference.
const (
	doseTime  = "irq_softirq_time"
	doseNetRX = "net_rx_softirqs_per_s"
	doseRate  = "device_interrupts_per_s"
)

// picture is what interrupts do to each CPU in the window.
type picture struct {
	cpus     []int           // online, ascending
	rate     map[int]float64 // non-storage device interrupts/s, mean over the window; NaN unknown
	share    map[int]float64 // irq+softirq share of time; NaN unknown
	dose     map[int]float64 // what an interrupt takes from whoever runs there, by measure
	measure  string
	heavy    map[int]bool   // over the whole window
	segments []heavySegment // the set fixed for each stretch of at most HeavyWindow
	seconds  float64        // time over which rates are known
}

// heavySegment is a stretch of the window with its fixed set of heavy CPUs.
type heavySegment struct {
	series.Span
	heavy map[int]bool
}

// observable says whether anything is known of the CPUs' interrupt load.
func (pic *picture) observable() bool { return pic.seconds > 0 }

func newPicture(s *series.Series, p *path, prm Params) *picture {
	pic := &picture{cpus: s.Online, dose: map[int]float64{}}
	pic.seconds = spanSeconds(s.Interrupts.Spans, s.Window)
	if pic.seconds == 0 && s.CPU.Interrupts {
		pic.seconds = spanSeconds(s.CPU.IRQSoftIRQ.Spans, s.Window)
	}
	pic.segments = cutSegments(s.Window, micros(prm.HeavyWindow))
	stretches := []series.Span{s.Window}
	for _, seg := range pic.segments {
		stretches = append(stretches, seg.Span)
	}
	// Both matrices are large; each is read once.
	rates, shares := sumMatrix(&s.Interrupts, p, stretches), sumMatrix(&series.Matrix{}, p, nil)
	if s.CPU.Interrupts {
		shares = sumMatrix(&s.CPU.IRQSoftIRQ, p, stretches)
	}
	pic.setHeavy(s, rates, shares, prm)
	pic.setDose(s, p, rates, shares)
	return pic
}

// setDose takes the best measure that there is, from intervals in which the
// watched process was not on the CPU where those make up a tenth of the time.
func (pic *picture) setDose(s *series.Series, p *path, rates, shares *matrixSums) {
	sums := rates
	switch {
	case s.CPU.Interrupts && len(s.CPU.IRQSoftIRQ.Spans) > 0:
		sums, pic.measure = shares, doseTime
	case len(s.NetRX.Spans) > 0:
		sums, pic.measure = sumMatrix(&s.NetRX, p, []series.Span{s.Window}), doseNetRX
	default:
		pic.measure = doseRate
	}
	all, away := sums.means(s.Window), sums.awayMeans(s.Window)
	for _, c := range pic.cpus {
		pic.dose[c] = lookup(away, c)
		if math.IsNaN(pic.dose[c]) {
			pic.dose[c] = lookup(all, c)
		}
	}
}

func lookup(m map[int]float64, k int) float64 {
	if v, ok := m[k]; ok {
		return v
	}
	return math.NaN()
}

// cutSegments cuts the window into equal stretches of at most the given length.
func cutSegments(w series.Span, longest series.Micros) []heavySegment {
	length := w.To - w.From
	n := max(1, int((length+longest-1)/max(1, longest)))
	segments := make([]heavySegment, n)
	for k := range segments {
		segments[k].Span = series.Span{From: w.From + length*int64(k)/int64(n), To: w.From + length*int64(k+1)/int64(n)}
	}
	return segments
}

// setHeavy fixes the heavy set of the window and of each segment. A segment with
// hardly any readings takes the window's.
func (pic *picture) setHeavy(s *series.Series, rates, shares *matrixSums, prm Params) {
	pic.rate, pic.share, pic.heavy = pic.heavyIn(s.Window, rates, shares, prm)
	for k := range pic.segments {
		seg := &pic.segments[k]
		seg.heavy = pic.heavy
		observed := spanSeconds(s.Interrupts.Spans, seg.Span) + spanSeconds(s.CPU.IRQSoftIRQ.Spans, seg.Span)
		if len(pic.segments) > 1 && observed >= seg.Seconds()/4 {
			_, _, seg.heavy = pic.heavyIn(seg.Span, rates, shares, prm)
		}
	}
}

// heavyIn gives each online CPU's mean rate and share of time over a stretch,
// and whether they make it heavy.
func (pic *picture) heavyIn(w series.Span, rates, shares *matrixSums, prm Params) (rate, share map[int]float64, heavy map[int]bool) {
	rate, share, heavy = map[int]float64{}, map[int]float64{}, map[int]bool{}
	perS, ofTime := rates.means(w), shares.means(w)
	for _, c := range pic.cpus {
		rate[c], share[c] = lookup(perS, c), lookup(ofTime, c)
		heavy[c] = rate[c] > prm.HeavyPerSecond || share[c] > prm.HeavyTimeShare
	}
	return rate, share, heavy
}

// segmentAt gives the index of the segment that holds t, clamped to the ends.
func (pic *picture) segmentAt(t series.Micros) int {
	i := sort.Search(len(pic.segments), func(i int) bool { return t < pic.segments[i].To })
	return min(i, len(pic.segments)-1)
}

// describe renders the picture for the finding.
func (pic *picture) describe(s *series.Series, prm Params) *domain.Interrupts {
	if !pic.observable() {
		return nil
	}
	d := &domain.Interrupts{OnlineCPUs: len(pic.cpus), DoseMeasure: pic.measure, HeavyCPUs: []int{}, Heavy: []domain.HeavyCPU{}}
	var rates []float64
	for _, c := range pic.cpus {
		d.ByCPU = append(d.ByCPU, pic.cpuRate(s, c))
		if !math.IsNaN(pic.rate[c]) {
			rates = append(rates, pic.rate[c])
		}
		if !pic.heavy[c] {
			continue
		}
		h := domain.HeavyCPU{CPU: c, PerS: number(pic.rate[c]), TimeShare: number(pic.share[c])}
		if pic.rate[c] > prm.HeavyPerSecond {
			h.By = append(h.By, "rate")
		}
		if pic.share[c] > prm.HeavyTimeShare {
			h.By = append(h.By, "time")
		}
		d.HeavyCPUs, d.Heavy = append(d.HeavyCPUs, c), append(d.Heavy, h)
	}
	if len(rates) == len(pic.cpus) {
		d.Gini = number(stats.Gini(rates))
	}
	pic.describeCores(s, d)
	for _, dev := range s.Devices {
		if dev.Total > 0 {
			d.ByDevice = append(d.ByDevice, deviceRate(s, dev))
		}
	}
	return d
}

func (pic *picture) cpuRate(s *series.Series, c int) domain.CPURate {
	r := domain.CPURate{CPU: c, PerS: number(pic.rate[c]), TimeShare: number(pic.share[c]), Dose: number(pic.dose[c])}
	if t, ok := s.Topology.CPU(c); ok {
		r.NUMANode, r.Socket, r.Core = identity(t.Node), identity(t.Socket), identity(t.Core)
	}
	return r
}

func identity(v int) *int {
	if v < 0 {
		return nil
	}
	return &v
}

// describeCores counts heavy cores both ways, where cores are known of all CPUs.
func (pic *picture) describeCores(s *series.Series, d *domain.Interrupts) {
	type core struct {
		primary, any bool
		first        int
		rate         float64
	}
	cores := map[int]*core{}
	for _, c := range pic.cpus {
		t, ok := s.Topology.CPU(c)
		if !ok || t.Core < 0 {
			return
		}
		k := cores[t.Core]
		if k == nil { // CPUs ascend, so the first is the primary thread
			k = &core{first: c, primary: pic.heavy[c]}
			cores[t.Core] = k
		}
		k.any = k.any || pic.heavy[c]
		k.rate += pic.rate[c]
	}
	var primary, anyThread int
	rates := make([]float64, 0, len(cores))
	for _, k := range cores {
		if k.primary {
			primary++
		}
		if k.any {
			anyThread++
		}
		rates = append(rates, k.rate)
	}
	d.HeavyCores, d.HeavyCoresAnyThread = &primary, &anyThread
	slices.Sort(rates)
	d.GiniCores = number(stats.Gini(rates))
}

// deviceRate gives a device with the CPUs that take at least a hundredth of its
// interrupts.
func deviceRate(s *series.Series, dev series.Device) domain.DeviceRate {
	r := domain.DeviceRate{Device: dev.Name, Class: dev.Class.String(), IRQs: dev.IRQs, PerS: dev.Total, CPUs: servingCPUs(dev)}
	if b := s.Topology.BondOf(dev.Name); b != "" {
		r.Bond = &b
	}
	if r.IRQs == nil {
		r.IRQs = []int{}
	}
	for _, p := range s.Topology.Ports {
		if p.Name == dev.Name {
			r.NUMANode = identity(p.Node)
		}
	}
	return r
}

func servingCPUs(dev series.Device) []int {
	cpus := []int{}
	for c, v := range dev.PerS {
		if v >= dev.Total/100 {
			cpus = append(cpus, c)
		}
	}
	slices.Sort(cpus)
	return cpus
}

// number gives nil for what is unknown or infinite.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
