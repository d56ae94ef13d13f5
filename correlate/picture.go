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
	pic := &picture{cpus: s.Online, rate: map[int]float64{}, share: map[int]float64{}, dose: map[int]float64{}, heavy: map[int]bool{}}
	pic.seconds = spanSeconds(s.Interrupts.Spans, s.Window)
	if pic.seconds == 0 && s.CPU.Interrupts {
		pic.seconds = spanSeconds(s.CPU.IRQSoftIRQ.Spans, s.Window)
	}
	rates := columnMeans(&s.Interrupts, s.Window)
	shares := map[int]float64{}
	if s.CPU.Interrupts {
		shares = columnMeans(&s.CPU.IRQSoftIRQ, s.Window)
	}
	for _, c := range pic.cpus {
		pic.rate[c], pic.share[c] = lookup(rates, c), lookup(shares, c)
		pic.heavy[c] = pic.rate[c] > prm.HeavyPerSecond || pic.share[c] > prm.HeavyTimeShare
	}
	pic.setDose(s, p, rates, shares)
	pic.setSegments(s, prm)
	return pic
}

// setDose takes the best measure that there is, from intervals in which the
// watched process was not on the CPU where those make up a tenth of the time.
func (pic *picture) setDose(s *series.Series, p *path, rates, shares map[int]float64) {
	var all, away map[int]float64
	switch {
	case s.CPU.Interrupts && len(s.CPU.IRQSoftIRQ.Spans) > 0:
		all, away, pic.measure = shares, awayMeans(&s.CPU.IRQSoftIRQ, s.Window, p), doseTime
	case len(s.NetRX.Spans) > 0:
		all, away, pic.measure = columnMeans(&s.NetRX, s.Window), awayMeans(&s.NetRX, s.Window, p), doseNetRX
	default:
		all, away, pic.measure = rates, awayMeans(&s.Interrupts, s.Window, p), doseRate
	}
	for _, c := range pic.cpus {
		pic.dose[c] = lookup(away, c)
		if math.IsNaN(pic.dose[c]) {
			pic.dose[c] = lookup(all, c)
		}
	}
}

// columnSums adds up a matrix's rows, each weighed by its length.
type columnSums struct {
	sum, sec []float64 // by column: value times seconds, and seconds known
	total    float64   // seconds, known or not
}

func newColumnSums(m *series.Matrix) *columnSums {
	return &columnSums{sum: make([]float64, len(m.CPUs)), sec: make([]float64, len(m.CPUs))}
}

func (s *columnSums) add(row []float32, seconds float64) {
	s.total += seconds
	sum, sec := s.sum[:len(row)], s.sec[:len(row)]
	for c, v := range row {
		if v == v { // NaN is not
			sum[c] += float64(v) * seconds
			sec[c] += seconds
		}
	}
}

// addBut adds a row but for some of its columns.
func (s *columnSums) addBut(row []float32, seconds float64, columns []int) {
	type kept struct{ sum, sec float64 }
	var few [4]kept // LGWR alone has one, with workers a few
	before := few[:0]
	for _, c := range columns {
		before = append(before, kept{s.sum[c], s.sec[c]})
	}
	s.add(row, seconds)
	for i, c := range columns {
		s.sum[c], s.sec[c] = before[i].sum, before[i].sec
	}
}

// means gives each CPU's mean; NaN where less than the given seconds are known.
func (s *columnSums) means(cpus []int, least float64) map[int]float64 {
	out := make(map[int]float64, len(cpus))
	for c, id := range cpus {
		out[id] = math.NaN()
		if s.sec[c] > 0 && s.sec[c] >= least {
			out[id] = s.sum[c] / s.sec[c]
		}
	}
	return out
}

// columnMeans gives each CPU's mean over the window, intervals weighed by length.
func columnMeans(m *series.Matrix, w series.Span) map[int]float64 {
	sums := newColumnSums(m)
	first, end := intervalsIn(m.Spans, w)
	for i := first; i < end; i++ {
		sums.add(m.Row(i), m.Spans[i].Seconds())
	}
	return sums.means(m.CPUs, 0)
}

// awayMeans is columnMeans over the intervals in which the watched process was
// not on the CPU; NaN where those make up under a tenth of the observed time.
func awayMeans(m *series.Matrix, w series.Span, p *path) map[int]float64 {
	columns := make([][]int, len(p.places))
	for i, cpus := range p.places {
		for _, cpu := range cpus {
			if c := m.Column(int(cpu)); c >= 0 {
				columns[i] = append(columns[i], c)
			}
		}
	}
	sums := newColumnSums(m)
	first, end := intervalsIn(m.Spans, w)
	var occupied []int
	v := 0
	for i := first; i < end; i++ {
		sp := m.Spans[i]
		for v < len(p.visits) && p.visits[v].To <= sp.From {
			v++
		}
		occupied = occupied[:0]
		for k := v; k < len(p.visits) && p.visits[k].From < sp.To; k++ {
			occupied = append(occupied, columns[p.visits[k].place]...)
		}
		sums.addBut(m.Row(i), sp.Seconds(), occupied)
	}
	return sums.means(m.CPUs, sums.total/10)
}

// intervalsIn gives the first of the ascending intervals that lie in the
// window, give or take a second, and the one after the last.
func intervalsIn(spans []series.Span, w series.Span) (first, end int) {
	first = sort.Search(len(spans), func(i int) bool { return spans[i].From >= w.From-series.Second })
	end = sort.Search(len(spans), func(i int) bool { return spans[i].To > w.To+series.Second })
	return first, max(first, end)
}

func spanSeconds(spans []series.Span, w series.Span) float64 {
	var s float64
	first, end := intervalsIn(spans, w)
	for _, sp := range spans[first:end] {
		s += sp.Seconds()
	}
	return s
}

func lookup(m map[int]float64, k int) float64 {
	if v, ok := m[k]; ok {
		return v
	}
	return math.NaN()
}

// setSegments cuts the window into equal stretches of at most HeavyWindow and
// fixes the heavy set of each. A stretch without readings takes the window's.
func (pic *picture) setSegments(s *series.Series, prm Params) {
	length := s.Window.To - s.Window.From
	n := max(1, int((length+micros(prm.HeavyWindow)-1)/max(1, micros(prm.HeavyWindow))))
	for k := range n {
		seg := heavySegment{Span: series.Span{From: s.Window.From + length*int64(k)/int64(n), To: s.Window.From + length*int64(k+1)/int64(n)}}
		seg.heavy = pic.heavy
		if n > 1 {
			if h, ok := pic.heavyWithin(s, seg.Span, prm); ok {
				seg.heavy = h
			}
		}
		pic.segments = append(pic.segments, seg)
	}
}

func (pic *picture) heavyWithin(s *series.Series, w series.Span, prm Params) (map[int]bool, bool) {
	if spanSeconds(s.Interrupts.Spans, w)+spanSeconds(s.CPU.IRQSoftIRQ.Spans, w) < w.Seconds()/4 {
		return nil, false
	}
	rates := columnMeans(&s.Interrupts, w)
	shares := map[int]float64{}
	if s.CPU.Interrupts {
		shares = columnMeans(&s.CPU.IRQSoftIRQ, w)
	}
	h := map[int]bool{}
	for _, c := range pic.cpus {
		h[c] = lookup(rates, c) > prm.HeavyPerSecond || lookup(shares, c) > prm.HeavyTimeShare
	}
	return h, true
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
