package store

import (
	"context"

	"github.com/corewait/corewait/domain"
)

func (f *feed) placements(ctx context.Context) error {
	q := f.runs(f.src.of(placementSamples, `command_id, tid, at, until, uncertainty_us, period_us, jitter_us, run_samples, run_cpu, states, policy,
		interval_us, first_interval_us, cpu_share_bp, wait_share_bp, exec_us, run_delay_us, voluntary, involuntary`))
	from, to := f.instants()
	var m, run placementRun // m holds the memory that rows are read into
	q.add("ORDER BY command_id, tid, at")
	return f.read(ctx, placementSamples.name, q, func(r *rowReader) (err error) {
		command := NameID(r.int4())
		run.tid, run.at, run.until = r.int4(), r.time(), r.time()
		run.uncertaintyUS, run.periodUS = r.int4(), r.int4()
		for _, c := range [...]struct{ to, memory *[]int16 }{
			{&run.jitterUS, &m.jitterUS}, {&run.runSamples, &m.runSamples}, {&run.runCPU, &m.runCPU}, {&run.states, &m.states},
		} {
			*c.to = packedInts(r, *c.memory, null16)
			*c.memory = keep(*c.memory, *c.to)
		}
		run.policy = r.int2()
		run.intervalUS = packedInts(r, m.intervalUS, null64)
		m.intervalUS = keep(m.intervalUS, run.intervalUS)
		run.firstIntervalUS = r.int8()
		for _, c := range [...]struct{ to, memory *[]int16 }{{&run.cpuShareBP, &m.cpuShareBP}, {&run.waitShareBP, &m.waitShareBP}} {
			*c.to = packedInts(r, *c.memory, null16)
			*c.memory = keep(*c.memory, *c.to)
		}
		for _, c := range [...]struct{ to, memory *[]int32 }{
			{&run.execUS, &m.execUS}, {&run.runDelayUS, &m.runDelayUS}, {&run.voluntary, &m.voluntary}, {&run.involuntary, &m.involuntary},
		} {
			*c.to = packedInts(r, *c.memory, null32)
			*c.memory = keep(*c.memory, *c.to)
		}
		if r.err != nil {
			return r.err
		}
		if run.command, err = f.name(command); err != nil {
			return err
		}
		return run.each(func(p domain.Placement) error {
			if at := micros(p.At); at < from || at >= to {
				return nil
			}
			return give(f.to.Placement(p))
		})
	})
}
