package series

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
)

// Values of Choice.InstID beside those of Oracle.
const (
	AnyInstID = -1 // all waits belong to the instance
	NoInstID  = -2 // none of the waits do
)

// Choice picks one instance of a node. An empty Instance and AnyInstID leave
// the choice to what the records tell.
type Choice struct {
	Node     string
	Instance string
	InstID   int
}

// AmbiguousError says that the records hold several instances and nothing
// tells which belong together; Flag names the option that decides.
type AmbiguousError struct{ Flag, What string }

func (e *AmbiguousError) Error() string { return e.What + ": choose with " + e.Flag }

// Instances gives the choices that the records hold: one per instance whose
// process was seen, each with the INST_ID of its waits (negative where it has
// none). Where no process was seen there is one choice, of the only INST_ID or
// of the one that runs on the node.
func (b *Builder) Instances(want Choice) ([]Choice, []string, error) {
	cut := b.completeSIDs(want.Instance)
	found, warnings, err := b.choose(want)
	return found, append(cut, warnings...), err
}

func (b *Builder) choose(want Choice) ([]Choice, []string, error) {
	if err := b.holds(want); err != nil {
		return nil, nil, err
	}
	sids := b.sids()
	ids := b.instIDs()
	if want.Instance != "" {
		sids = slices.DeleteFunc(sids, func(s string) bool { return !strings.EqualFold(s, want.Instance) })
		if len(sids) == 0 {
			sids = []string{want.Instance}
		}
	}
	if want.InstID >= 0 {
		ids = []int{want.InstID}
	}
	switch {
	case len(ids) == 0:
		return choices(want.Node, sids, AnyInstID), nil, nil
	case len(sids) <= 1:
		sid := ""
		if len(sids) == 1 {
			sid = sids[0]
		}
		id, err := b.oneInstID(want, sid, ids)
		if err != nil {
			return nil, nil, err
		}
		if sid == "" {
			sid = b.instances[id].Name
		}
		if want.InstID < 0 && b.isElsewhere(id, sid, want.Node) {
			i := b.instances[id]
			return []Choice{{Node: want.Node, Instance: sid, InstID: NoInstID}}, []string{fmt.Sprintf(
				"the waits are of INST_ID %d, which is %s on %s, and not of %s on this node", id, i.Name, ShortHost(i.Host), sid)}, nil
		}
		return []Choice{{Node: want.Node, Instance: sid, InstID: id}}, nil, nil
	default:
		return b.pair(want, sids, ids)
	}
}

func choices(node string, sids []string, id int) []Choice {
	if len(sids) == 0 {
		return []Choice{{Node: node, InstID: id}}
	}
	out := make([]Choice, len(sids))
	for i, s := range sids {
		out[i] = Choice{Node: node, Instance: s, InstID: id}
	}
	return out
}

// oneInstID finds which INST_ID belongs to the only instance: the only one
// there is, the one that V$INSTANCE names so, or the one whose background
// processes run on this host.
func (b *Builder) oneInstID(want Choice, sid string, ids []int) (int, error) {
	if len(ids) == 1 {
		return ids[0], nil
	}
	for _, id := range ids {
		if i, ok := b.instances[id]; ok && sid != "" && strings.EqualFold(i.Name, sid) {
			return id, nil
		}
	}
	var here []int
	for _, id := range ids {
		if b.runsOn(id, want.Node) {
			here = append(here, id)
		}
	}
	if len(here) == 1 {
		return here[0], nil
	}
	return 0, &AmbiguousError{"--inst-id", fmt.Sprintf("the waits are of INST_IDs %s and nothing says which of them is %s on this node",
		joinInts(ids), cmp.Or(sid, "the instance"))}
}

// runsOn says whether an INST_ID is known to run on the host.
func (b *Builder) runsOn(id int, node string) bool {
	if node == "" {
		return false
	}
	if i, ok := b.instances[id]; ok {
		return ShortHost(i.Host) == ShortHost(node)
	}
	return len(b.hosts[id]) == 1 && b.hosts[id][ShortHost(node)]
}

// isElsewhere says whether V$INSTANCE gives an INST_ID to another instance on
// another host. The name alone does not tell: it may differ from the SID.
func (b *Builder) isElsewhere(id int, sid, node string) bool {
	i, ok := b.instances[id]
	return ok && !strings.EqualFold(i.Name, sid) && i.Host != "" && node != "" && ShortHost(i.Host) != ShortHost(node)
}

// pair matches several instances of one node with INST_IDs: by V$INSTANCE, else
// by the digit that RAC puts at the end of a SID, which is said in a warning.
func (b *Builder) pair(want Choice, sids []string, ids []int) ([]Choice, []string, error) {
	var out []Choice
	var warnings []string
	used := map[int]bool{}
	for _, sid := range sids {
		id := NoInstID
		for _, k := range ids {
			if i, ok := b.instances[k]; ok && strings.EqualFold(i.Name, sid) {
				id = k
			}
		}
		if id < 0 {
			var byName []int
			for _, k := range ids {
				if _, told := b.instances[k]; !told && strings.HasSuffix(sid, fmt.Sprint(k)) {
					byName = append(byName, k)
				}
			}
			if len(byName) == 1 {
				id = byName[0]
				warnings = append(warnings, fmt.Sprintf("INST_ID %d is taken for %s by the number at the end of its name; --instance and --inst-id decide otherwise", id, sid))
			}
		}
		if used[id] {
			return nil, nil, &AmbiguousError{"--instance", fmt.Sprintf("this node runs %s and the waits of INST_ID %d may be of either", strings.Join(sids, " and "), id)}
		}
		used[id] = id >= 0
		out = append(out, Choice{Node: want.Node, Instance: sid, InstID: id})
	}
	if !slices.ContainsFunc(out, func(c Choice) bool { return c.InstID >= 0 }) {
		return nil, nil, &AmbiguousError{"--instance", fmt.Sprintf("this node runs %s and nothing says whose waits those of INST_ID %s are", strings.Join(sids, " and "), joinInts(ids))}
	}
	return out, warnings, nil
}

func joinInts(v []int) string {
	s := make([]string, len(v))
	for i, x := range v {
		s[i] = fmt.Sprint(x)
	}
	return strings.Join(s, ", ")
}

// sids lists the instances whose own process was seen, or only their workers.
func (b *Builder) sids() []string {
	set := map[string]bool{}
	for _, s := range b.threadSID {
		set[s] = true
	}
	out := make([]string, 0, len(set))
	for s := range set {
		out = append(out, s)
	}
	sort.Strings(out)
	return out
}

// instIDs lists the INST_IDs of the Oracle records.
func (b *Builder) instIDs() []int {
	set := map[int]bool{}
	for k := range b.waits {
		set[k.inst] = true
	}
	for k := range b.hist {
		set[k.inst] = true
	}
	if len(set) == 0 {
		for k := range b.counters {
			set[k.inst] = true
		}
	}
	if len(set) > 1 {
		delete(set, -1)
	}
	return sortedKeys(set)
}

// Build gives the series of a choice. It may be called for several choices.
func (b *Builder) Build(c Choice) *Series { return b.build(c, false) }

// BuildFromHistograms is Build without the watched waits of ASH, so that
// histograms tell.
func (b *Builder) BuildFromHistograms(c Choice) *Series { return b.build(c, true) }

func (b *Builder) build(c Choice, histogramsOnly bool) *Series {
	b.endReadings()
	topology := b.topology.build()
	s := &Series{
		Node: c.Node, Instance: c.Instance, InstID: c.InstID, Watch: b.watch,
		Topology: topology, Interrupts: b.interrupts.out, NetRX: b.netRX.out,
		CPU: b.cpuTime.build(), Counters: map[string][]Rate{},
	}
	s.System = systemPoints(mergeSystem(slices.Clone(b.system)))
	s.Disks = sortDisks(slices.Clone(b.disks))
	s.Online = b.online(s)
	b.buildThreads(s)
	b.buildWaits(s, histogramsOnly)
	b.buildHistograms(s)
	b.buildCounters(s)
	s.Window = b.extent(s)
	s.Devices = b.interrupts.lines.devices(topology.Ports, s.Window)
	s.Notes = append(b.interruptNotes(), s.Notes...)
	return s
}

// takes says whether records of an INST_ID belong to the series; a negative one
// is unknown and taken, unless none belong.
func (s *Series) takes(inst int) bool {
	return s.InstID == AnyInstID || s.InstID >= 0 && (inst < 0 || inst == s.InstID)
}

// owner gives the INST_ID that records taken are joined under: those of an
// unknown one are the instance's own.
func (s *Series) owner(inst int) int {
	if s.InstID >= 0 {
		return s.InstID
	}
	return inst
}

// online lists the CPUs seen online: columns of /proc/interrupts, which prints
// online CPUs only; else CPUs with times; else the topology's.
func (b *Builder) online(s *Series) []int {
	if len(s.Interrupts.CPUs) > 0 {
		return s.Interrupts.CPUs
	}
	if len(s.CPU.Busy.CPUs) > 0 {
		return s.CPU.Busy.CPUs
	}
	var ids []int
	for _, c := range s.Topology.CPUs {
		if c.Online {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func (b *Builder) buildThreads(s *Series) {
	for k, t := range b.threads {
		if s.Instance != "" && b.threadSID[k] != s.Instance && !strings.EqualFold(b.threadSID[k], s.Instance) {
			continue
		}
		s.Threads = append(s.Threads, sortedThread(t))
	}
	slices.SortFunc(s.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(a.Command, b.Command), cmp.Compare(a.TID, b.TID))
	})
}

// sortedThread orders a thread's samples and drops doubles, as where the same
// recording is in two files.
func sortedThread(t *Thread) Thread {
	if slices.IsSorted(t.At) && !hasDoubles(t.At) {
		return *t
	}
	order := make([]int, len(t.At))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return t.At[order[i]] < t.At[order[j]] })
	o := Thread{TID: t.TID, Command: t.Command, Worker: t.Worker, Uncertainty: t.Uncertainty}
	for _, i := range order {
		if n := len(o.At); n > 0 && o.At[n-1] == t.At[i] {
			continue
		}
		o.At, o.CPU, o.State = append(o.At, t.At[i]), append(o.CPU, t.CPU[i]), append(o.State, t.State[i])
		o.CPUShare, o.WaitShare = append(o.CPUShare, t.CPUShare[i]), append(o.WaitShare, t.WaitShare[i])
		o.Exec, o.RunDelay = append(o.Exec, t.Exec[i]), append(o.RunDelay, t.RunDelay[i])
	}
	return o
}

func hasDoubles(at []Micros) bool {
	for i := 1; i < len(at); i++ {
		if at[i] == at[i-1] {
			return true
		}
	}
	return false
}

func (b *Builder) buildWaits(s *Series, histogramsOnly bool) {
	for k, w := range b.waits {
		own := w.Event == b.watch.OwnWait
		switch {
		case s.takes(k.inst) && !own && histogramsOnly:
		case s.takes(k.inst) && own:
			s.OwnWaits = append(s.OwnWaits, w)
		case s.takes(k.inst):
			s.Waits = append(s.Waits, w)
		case !own:
			s.Partner = append(s.Partner, w)
		}
	}
	for k, w := range b.others {
		if s.takes(k.inst) {
			s.OtherWaits = append(s.OtherWaits, w)
		}
	}
	sortWaits(s.Waits)
	sortWaits(s.OwnWaits)
	sortWaits(s.Partner)
	sortWaits(s.OtherWaits)
	b.buildTicks(s)
	// A row that was not fixed up reads zero: no filter by length let it pass.
	s.Filtered = len(s.Waits) > 0
	for i := range s.Waits {
		s.Filtered = s.Filtered && (s.Waits[i].TimeWaited < 0 || s.Waits[i].TimeWaited >= longOther.Microseconds())
		s.History = s.History || s.Waits[i].Period > 5*Second
	}
	if b.othersCut > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d ASH rows of other events were left out beyond the %d kept", b.othersCut, keptOtherWaits))
	}
}

func (b *Builder) buildTicks(s *Series) {
	for k, at := range b.ticks {
		if !s.takes(k.inst) {
			continue
		}
		t := Tick{k.id, at}
		if t.ID == at { // stands in for a SAMPLE_ID that the row lacks
			t.ID = -1
		}
		s.Ticks = append(s.Ticks, t)
	}
	slices.SortFunc(s.Ticks, func(a, b Tick) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(b.ID, a.ID)) })
	s.Ticks = slices.CompactFunc(s.Ticks, func(a, b Tick) bool { return a.At == b.At })
}

func (b *Builder) buildCounters(s *Series) {
	of := map[counterKey][]counterPoint{}
	byInstance := func(a, b counterKey) int { return cmp.Compare(a.inst, b.inst) }
	for _, k := range slices.SortedFunc(maps.Keys(b.counters), byInstance) {
		if s.takes(k.inst) {
			owned := counterKey{s.owner(k.inst), k.name}
			of[owned] = append(of[owned], b.counters[k]...)
		}
	}
	// Where all instances belong to the series, the first one's counters count.
	for _, k := range slices.SortedFunc(maps.Keys(of), func(a, b counterKey) int { return cmp.Compare(b.inst, a.inst) }) {
		points := of[k]
		slices.SortStableFunc(points, func(a, b counterPoint) int { return cmp.Compare(a.at, b.at) })
		points = slices.CompactFunc(points, func(a, b counterPoint) bool { return a.at == b.at })
		var rates []Rate
		for i := 1; i < len(points); i++ {
			span := Span{points[i-1].at, points[i].at}
			gain := points[i].value - points[i-1].value
			if gain < 0 { // the instance restarted
				continue
			}
			rates = append(rates, Rate{span, float64(gain) / span.Seconds()})
		}
		if len(rates) > 0 {
			s.Counters[k.name] = rates
		}
	}
}

// extent gives the window that the series cover: the one asked for, or that
// of the host's records, or that of the waits.
func (b *Builder) extent(s *Series) Span {
	host := Span{math.MaxInt64, math.MinInt64}
	grow := func(from, to Micros) {
		host.From, host.To = min(host.From, from), max(host.To, to)
	}
	for i := range s.Threads {
		if t := &s.Threads[i]; len(t.At) > 0 {
			grow(t.At[0], t.At[len(t.At)-1]+max(t.Uncertainty, t.Period()))
		}
	}
	if host.From > host.To && len(s.Interrupts.Spans) > 0 {
		grow(s.Interrupts.Spans[0].From, s.Interrupts.Spans[len(s.Interrupts.Spans)-1].To)
	}
	if host.From > host.To && len(s.Waits) > 0 {
		grow(s.Waits[0].At, s.Waits[len(s.Waits)-1].At+1)
	}
	if host.From > host.To && len(s.Histograms) > 0 {
		grow(s.Histograms[0].From, s.Histograms[len(s.Histograms)-1].To)
	}
	empty := host.From > host.To
	if b.window == (Span{}) {
		if empty {
			return Span{}
		}
		return s.whereWaitsAreKnown(host)
	}
	asked := b.nearRecords()
	if asked.From > noFrom {
		host.From = asked.From
	} else if empty {
		host.From = asked.To
	}
	if asked.To < noTo {
		host.To = asked.To
	} else if empty {
		host.To = asked.From
	}
	return host
}

// whereWaitsAreKnown narrows a window to the time that Oracle's records cover,
// where they tell: time without them is no time without stalls. A spool of long
// rows only tells nothing by its silence.
func (s *Series) whereWaitsAreKnown(w Span) Span {
	known := emptySpan()
	switch {
	case len(s.Waits) > 0 && !s.Filtered && len(s.Ticks) > 1:
		known = Span{s.Ticks[0].At - Second, s.Ticks[len(s.Ticks)-1].At + Second}
	case len(s.Waits) == 0 && len(s.Histograms) > 0:
		for i := range s.Histograms {
			known.grow(s.Histograms[i].From)
			known.grow(s.Histograms[i].To)
		}
	}
	if from, to := max(w.From, known.From), min(w.To, known.To); known.From < known.To && from < to {
		return Span{from, to}
	}
	return w
}
