package store

import "time"

// runRows are the rows of a batch that hold several readings each.
type runRows struct {
	placements []placementRun
	histograms []histogramRun
	counters   []counterRun
	texts      *nameList // of the batch
}

// runs builds the rows of readings, and adds their names to the batch's.
func (b *Batch) runs() *runRows {
	r := &runRows{counters: counterRuns(b.counters), texts: &b.texts}
	for i := range b.placements {
		r.placements = append(r.placements, placementRuns(b.placements[i])...)
	}
	for i := range b.histograms {
		r.histograms = append(r.histograms, histogramRuns(b.histograms[i])...)
	}
	for i := range r.placements {
		r.texts.of(r.placements[i].command)
	}
	for i := range r.histograms {
		r.texts.of(r.histograms[i].event)
	}
	for i := range r.counters {
		for _, name := range r.counters[i].names {
			r.texts.of(name)
		}
	}
	return r
}

// nameID gives the number of a name that runs added.
func (r *runRows) nameID(to *target, name string) int32 { return int32(to.names[r.texts.of(name)]) }

func (r *runRows) writePlacements(e encoder) {
	for i := range r.placements {
		p := &r.placements[i]
		e.begin()
		e.int4(r.nameID(e.to, p.command))
		e.int4(p.tid)
		e.time(p.at)
		e.time(p.until)
		e.int4(p.uncertaintyUS)
		e.int4(p.periodUS)
		packedList(&e.rowBuffer, p.jitterUS, null16)
		packedList(&e.rowBuffer, p.runSamples, null16)
		packedList(&e.rowBuffer, p.runCPU, null16)
		packedList(&e.rowBuffer, p.states, null16)
		e.int2(p.policy)
		packedList(&e.rowBuffer, p.intervalUS, null64)
		e.int8(p.firstIntervalUS)
		packedList(&e.rowBuffer, p.cpuShareBP, null16)
		packedList(&e.rowBuffer, p.waitShareBP, null16)
		for _, v := range [...][]int32{p.execUS, p.runDelayUS, p.voluntary, p.involuntary} {
			packedList(&e.rowBuffer, v, null32)
		}
		e.endRow()
	}
}

func (r *runRows) writeHistograms(e encoder) {
	for i := range r.histograms {
		h := &r.histograms[i]
		e.begin()
		e.int2(int16(h.instID)) //nolint:gosec // storedInstance
		e.int4(r.nameID(e.to, h.event))
		e.bool(h.milli)
		e.time(h.at)
		e.time(h.until)
		e.int8s(h.belowUS)
		e.int8s(h.counts)
		e.int8s(h.lastUpdateUS)
		e.int4s(h.readingUS)
		e.int2s(h.changeReading)
		e.int2s(h.changeBucket)
		e.int8s(h.changeCounts)
		e.int8s(h.changeLastUpdateUS)
		e.endRow()
	}
}

func (r *runRows) writeCounters(e encoder) {
	var ids []int32
	for i := range r.counters {
		c := &r.counters[i]
		ids = ids[:0]
		for _, name := range c.names {
			ids = append(ids, r.nameID(e.to, name))
		}
		e.begin()
		e.int2(int16(c.instID)) //nolint:gosec // storedInstance
		e.time(c.at)
		e.int4Key(setHash(ids))
		e.time(c.until)
		e.int4s(ids)
		e.int4s(c.readingUS)
		e.int8s(c.values)
		e.endRow()
	}
}

// keyInstant gives an instant of a key: an unknown one is -infinity.
func keyInstant(t time.Time) int64 {
	if t.IsZero() {
		return timeUnknown
	}
	return micros(t)
}
