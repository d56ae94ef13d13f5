package store

// target says where the rows of a batch go: to a node's rows in the hot tables,
// or to those of a collection in their kept_ twins.
type target struct {
	node       NodeID
	collection CollectionID // 0: the hot tables
	importing  *UUID        // the import that writes; nil: none
	prefix     string       // of the tables' names: "stage_" for staging
	names      []NameID     // numbers of Batch.texts
	lines      []int32      // numbers of Batch.lines
}

func (t *target) kept() bool { return t.collection != 0 }

// stagePrefix begins the names of staging tables.
const stagePrefix = "stage_"

// encoder writes rows of one table.
type encoder struct {
	*copier
	to *target
}

// begin begins a row with the columns that all tables have.
func (e encoder) begin() {
	e.beginRow()
	e.int4(int32(e.to.node))
	if e.to.kept() {
		e.int4(int32(e.to.collection))
	}
}

// section is the rows of one table in a batch.
type section struct {
	table *table
	rows  int
	write func(e encoder)
}

// sections gives the tables that the batch has rows for. It builds the rows that
// hold several readings, and adds their names to the batch's.
func (b *Batch) sections() []section {
	runs := b.runs()
	all := []section{
		{interruptSamples, len(b.interrupts), b.writeInterrupts},
		{deviceSamples, len(b.devices), b.writeDevices},
		{softirqSamples, len(b.softirqs), b.writeSoftirqs},
		{cpuSamples, len(b.cpuTimes), b.writeCPUs},
		{systemSamples, len(b.systems), b.writeSystems},
		{diskSamples, len(b.disks), b.writeDisks},
		{placementSamples, len(runs.placements), runs.writePlacements},
		{waitSamples, len(b.waits), b.writeWaits},
		{histogramSamples, len(runs.histograms), runs.writeHistograms},
		{counterSamples, len(runs.counters), runs.writeCounters},
		{coverageGaps, len(b.gapOrder), b.writeGaps},
		{nodeEvents, len(b.events), b.writeEvents},
	}
	n := 0
	for _, s := range all {
		if s.rows > 0 {
			all[n] = s
			n++
		}
	}
	return all[:n]
}

// copySections sends the rows of all tables.
func copySections(c *copier, to *target, sections []section) {
	for _, s := range sections {
		fields := len(s.table.columns)
		if to.kept() {
			fields++
		}
		c.table(to.prefix+s.table.in(to.kept()), s.table.columnList(to.kept()), fields)
		s.write(encoder{c, to})
	}
}

func (b *Batch) writeInterrupts(e encoder) {
	for rest := b.interrupts; len(rest) > 0; {
		n := interruptRun(rest)
		e.interrupts(rest[:n])
		rest = rest[n:]
	}
}

func (b *Batch) writeDevices(e encoder) {
	for i := range b.devices {
		r := &b.devices[i]
		e.begin()
		e.time(r.at)
		e.int8(r.length)
		e.int8(r.observed)
		e.packed(len(r.lines), func(i int) int64 { return int64(e.to.lines[r.lines[i]]) })
		packedList(&e.rowBuffer, r.cpus, null16)
		e.counts(r.counts)
		e.int4(r.untracked)
		e.endRow()
	}
}

func (b *Batch) writeSoftirqs(e encoder) {
	for i := range b.softirqs {
		r := &b.softirqs[i]
		e.begin()
		e.text(r.name)
		e.time(r.at)
		e.int8(r.length)
		e.int2s(r.cpus)
		e.counts(r.counts)
		packedList(&e.rowBuffer, r.maxPerS, null64)
		e.endRow()
	}
}

func (b *Batch) writeCPUs(e encoder) {
	for i := range b.cpuTimes {
		r := &b.cpuTimes[i]
		e.begin()
		e.time(r.at)
		e.int8(r.length)
		e.cpuIDs(r)
		for k := range shares {
			e.shares(len(r.cpus), func(i int) int64 { return r.cpus[i].stored(k) })
		}
		for k := range 3 {
			if !r.peaks {
				e.null()
				continue
			}
			e.shares(len(r.cpus), func(i int) int64 { return widened(r.cpus[i].peaks[k], null16) })
		}
		for _, ppm := range r.host {
			e.int4(ppm)
		}
		e.endRow()
	}
}

// cpuIDs writes the ids of CPUs in ascending order: NULL where they are 0 to n-1.
// Where no share of any is written, nothing else tells that there were n.
func (e encoder) cpuIDs(r *cpuRow) {
	n := len(r.cpus)
	if n == 0 || int(r.cpus[n-1].cpu) == n-1 && r.showsCPUs() {
		e.null()
		return
	}
	start := e.beginArray(n, oidInt2)
	for i := range n {
		e.int2(r.cpus[i].cpu)
	}
	e.endField(start)
}

// showsCPUs says whether a share is written for each CPU: one that is neither
// unknown nor zero on all of them.
func (r *cpuRow) showsCPUs() bool {
	for k := range shares {
		known, zero := false, true
		for i := range r.cpus {
			v := r.cpus[i].stored(k)
			known, zero = known || v != null64, zero && v == 0
		}
		if known && !zero {
			return true
		}
	}
	return false
}

// shares writes a share of each CPU: NULL where none is known, no bytes where all
// are zero.
func (e encoder) shares(n int, of func(int) int64) {
	zero := n > 0
	for i := 0; i < n && zero; i++ {
		zero = of(i) == 0
	}
	if zero {
		e.packed(0, of)
		return
	}
	e.cells(n, of)
}

// stored gives a share as it is stored: of idle, which is the last one, what it
// leaves of the whole beside the others. That is next to nothing.
func (c *cpuCell) stored(k int) int64 {
	if v := c.shares[k]; v == null16 || k != shares-1 {
		return widened(v, null16)
	}
	rest := int64(wholeShare)
	for _, v := range c.shares {
		if v != null16 {
			rest -= int64(v)
		}
	}
	return rest
}

// counts writes the counts of an interval. In the live tables those that int4
// cannot hold are unknown: no interval of an agent has as many.
func (e encoder) counts(v []int64) {
	e.packed(len(v), func(i int) int64 { return e.count(v[i]) })
}

func (e encoder) count(n int64) int64 {
	if e.to.kept() {
		return n
	}
	return widened(narrow(n), null32)
}

func (b *Batch) writeSystems(e encoder) {
	for i := range b.systems {
		r := &b.systems[i]
		e.begin()
		e.time(r.at)
		e.int8(r.length)
		e.int4(r.runQueue)
		e.int4(r.runQueueMax)
		e.int4(r.blocked)
		e.int4(r.swapIn)
		e.int4(r.swapOut)
		e.int8(r.interrupts)
		e.int8(r.contextSwitches)
		for _, ppm := range [...]int32{r.user, r.system, r.idle, r.iowait, r.steal} {
			e.int4(ppm)
		}
		e.int8(r.timeSqueeze)
		for _, us := range r.pressureUS {
			e.int8(us)
		}
		e.endRow()
	}
}

func (b *Batch) writeDisks(e encoder) {
	for i := range b.disks {
		r := &b.disks[i]
		n := len(r.devices)
		e.begin()
		e.time(r.at)
		e.int8(r.length)
		e.packed(n, func(k int) int64 { return int64(e.to.names[r.devices[k].device]) })
		for _, of := range [...]func(*diskCell) int64{
			func(d *diskCell) int64 { return d.reads }, func(d *diskCell) int64 { return d.writes },
			func(d *diskCell) int64 { return d.readAwaitUS }, func(d *diskCell) int64 { return d.writeAwaitUS },
			func(d *diskCell) int64 { return widened(d.queue, null32) }, func(d *diskCell) int64 { return widened(d.utilisation, null16) },
		} {
			e.cells(n, func(k int) int64 { return of(&r.devices[k]) })
		}
		e.endRow()
	}
}

func (b *Batch) writeWaits(e encoder) {
	for i := range b.waits {
		r := &b.waits[i]
		e.begin()
		e.time(r.at)
		e.int2(r.inst)
		e.int8(r.sampleID)
		e.int4(r.session)
		e.int4Key(r.serial)
		e.int4(int32(e.to.names[r.event]))
		e.bool(r.background)
		e.bool(r.waiting)
		e.int8(r.timeWaitedUS)
		e.int8(r.periodUS)
		for _, text := range [...]string{r.sqlID, r.program, r.module, r.machine, r.service} {
			e.textOrNull(text)
		}
		for _, p := range [...]int64{r.p1, r.p2, r.p3} {
			e.int8(p)
		}
		e.endRow()
	}
}

func (b *Batch) writeGaps(e encoder) {
	for _, g := range b.gapOrder {
		e.begin()
		e.text(g.Source)
		e.time(keyInstant(g.From))
		e.time(keyInstant(g.To))
		e.text(g.Reason)
		if n := b.gaps[g]; n > 1 {
			e.int4(n)
		} else {
			e.null()
		}
		e.endRow()
	}
}
