package store

import (
	"context"
	"time"

	"github.com/corewait/corewait/domain"
)

func (f *feed) instances(ctx context.Context) error {
	q := &query{}
	q.add("SELECT inst_id, name, host FROM instances WHERE node_id = ? AND collection_id = ? ORDER BY last_seen, inst_id, name", f.src.Node, f.src.Collection)
	return f.read(ctx, "instances", q, func(r *rowReader) error {
		i := domain.Instance{InstID: int(r.int2()), Name: r.text(), Host: r.text()}
		if r.err != nil {
			return r.err
		}
		return give(f.to.Instance(i))
	})
}

func (f *feed) histograms(ctx context.Context) error {
	q := f.runs(f.src.of(histogramSamples, `inst_id, event_id, milli, at, until, below_us, counts, last_update_us,
		reading_us, change_reading, change_bucket, change_counts, change_last_update_us`))
	from, to := f.instants()
	q.add("ORDER BY inst_id, event_id, milli, at")
	return f.read(ctx, histogramSamples.name, q, func(r *rowReader) (err error) {
		run := histogramRun{instID: int(r.int2())}
		event := NameID(r.int4())
		run.milli = r.bool()
		run.at, run.until = r.time(), r.time()
		run.belowUS, run.counts, run.lastUpdateUS = r.int8s(nil), r.int8s(nil), r.int8s(nil)
		run.readingUS, run.changeReading, run.changeBucket = r.int4s(nil), r.int2s(nil), r.int2s(nil)
		run.changeCounts, run.changeLastUpdateUS = r.int8s(nil), r.int8s(nil)
		if r.err != nil {
			return r.err
		}
		if run.event, err = f.name(event); err != nil {
			return err
		}
		return run.each(func(s *domain.HistogramSnapshot) error {
			if at := micros(s.At); at < from || at >= to {
				return nil
			}
			return give(f.to.Histogram(s))
		})
	})
}

func (f *feed) counters(ctx context.Context) error {
	q := f.runs(f.src.of(counterSamples, "inst_id, at, until, name_ids, reading_us, values"))
	from, to := f.instants()
	var ids []int32
	q.add("ORDER BY inst_id, at, set_hash")
	return f.read(ctx, counterSamples.name, q, func(r *rowReader) error {
		run := counterRun{instID: int(r.int2()), at: r.time(), until: r.time()}
		ids = r.int4s(ids)
		run.readingUS, run.values = r.int4s(nil), r.int8s(nil)
		if r.err != nil {
			return r.err
		}
		for _, id := range ids {
			name, err := f.name(NameID(id))
			if err != nil {
				return err
			}
			run.names = append(run.names, name)
		}
		return run.each(from, to, sinkOfCounters{f})
	})
}

// sinkOfCounters passes counters on and marks the sink's errors.
type sinkOfCounters struct{ *feed }

func (s sinkOfCounters) Counter(c domain.Counter) error { return give(s.to.Counter(c)) }

func (s sinkOfCounters) SystemEvent(e domain.SystemEvent) error { return give(s.to.SystemEvent(e)) }

const waitColumns = `at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us, period_us,
	sql_id, program, module, machine, service, p1, p2, p3`

const waitOrder = "at, inst_id, sample_id, session_id, serial, event_id"

func (f *feed) waits(ctx context.Context) error {
	q := f.src.of(waitSamples, waitColumns)
	within(q, f.window)
	q.add("ORDER BY " + waitOrder)
	return f.read(ctx, waitSamples.name, q, func(r *rowReader) (err error) {
		w, key := readWait(r, &f.texts)
		if r.err != nil {
			return r.err
		}
		if w.Event, err = f.name(NameID(key.event)); err != nil {
			return err
		}
		return give(f.to.Wait(w))
	})
}

// readWait reads waitColumns: a wait but for its event, whose number is in the
// key.
func readWait(r *rowReader, t *repeatedTexts) (w domain.Wait, k waitKey) {
	k = waitKey{at: r.time(), inst: r.int2(), sample: r.int8(), session: r.int4(), serial: r.int4(), event: r.int4()}
	w = domain.Wait{
		At: instant(k.at), InstID: int(k.inst), SampleID: k.sample, SessionID: max(int(k.session), -1), Serial: int(k.serial),
		Background: r.bool(), Waiting: r.bool(), TimeWaited: -1,
	}
	if us := r.int8(); us != null64 {
		w.TimeWaited = time.Duration(us) * time.Microsecond
	}
	if us := r.int8(); us != null64 {
		w.Period = time.Duration(us) * time.Microsecond
	}
	for _, to := range [...]*string{&w.SQLID, &w.Program, &w.Module, &w.Machine, &w.Service} {
		*to = t.of(r.field())
	}
	for _, to := range [...]*int64{&w.P1, &w.P2, &w.P3} {
		if p := r.int8(); p != null64 {
			*to = p
		}
	}
	return w, k
}
