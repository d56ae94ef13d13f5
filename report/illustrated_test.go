package report

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// start is the begin of the made-up windows: midnight UTC.
var start = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

// span gives seconds after start.
func span(from, to int64) series.Span {
	zero := series.FromTime(start)
	return series.Span{From: zero + from*series.Second, To: zero + to*series.Second}
}

// made is a node of sockets with cores of two threads each, over seconds that
// are cut into intervals; the rate function gives interrupts/s by interval and CPU.
type made struct {
	sockets, cores int
	seconds, every int64
	rate           func(interval, cpu int) float32
}

func (m made) build() *series.Series {
	half := m.sockets * m.cores
	s := &series.Series{Node: "db1", Instance: "ORDP1", Watch: domain.WatchLGWR(), Window: span(0, m.seconds)}
	for id := range 2 * half {
		s.Online = append(s.Online, id)
		core := id % half
		s.Topology.CPUs = append(s.Topology.CPUs, domain.CPU{ID: id, Core: core, Socket: core / m.cores, Node: core / m.cores, Online: true})
	}
	s.Interrupts.CPUs = slices.Clone(s.Online)
	for i := range int(m.seconds / m.every) {
		s.Interrupts.Spans = append(s.Interrupts.Spans, span(int64(i)*m.every, int64(i+1)*m.every))
		for _, id := range s.Online {
			s.Interrupts.V = append(s.Interrupts.V, m.rate(i, id))
		}
	}
	return s
}

// lgwr makes a thread that moves every stay seconds through all CPUs.
func lgwr(cpus int, seconds, stay int64) series.Thread {
	t := series.Thread{TID: 1, Command: "ora_lgwr_ORDP1"}
	for i := range seconds {
		t.At = append(t.At, span(i, i).From)
		t.CPU = append(t.CPU, int32((i/stay*7)%int64(cpus)))
		t.CPUShare = append(t.CPUShare, 0.1)
		t.WaitShare = append(t.WaitShare, float32(math.NaN()))
		t.State = append(t.State, 'S')
		t.Exec, t.RunDelay = append(t.Exec, -1), append(t.RunDelay, -1)
	}
	return t
}

// analysed gives the engine's own finding on a series.
func analysed(t *testing.T, s *series.Series) *domain.Finding {
	t.Helper()
	p := correlate.DefaultParams()
	p.Permutations, p.Bootstraps = 400, 100
	return correlate.Analyze(s, p)
}

// day is a node of 4 sockets, 128 cores, 256 threads over 24 hours of one-minute
// readings, LGWR sampled every second, with a stall every 5 minutes.
func day() *series.Series {
	s := made{sockets: 4, cores: 32, seconds: 86400, every: 60, rate: func(i, cpu int) float32 {
		v := 20 + float32((i*7919+cpu*104729)%100)
		if cpu >= 96 && cpu < 112 {
			v += 3000 + float32((i*31+cpu*17)%900)
		}
		return v
	}}.build()
	s.Threads = []series.Thread{lgwr(256, 86400, 4)}
	for at := int64(150); at < 86400; at += 300 {
		s.Waits = append(s.Waits, series.Wait{At: span(at, at).From, SampleID: at, TimeWaited: 250_000, Period: series.Second, Event: domain.EventLogFileSync, Session: 1})
		s.Ticks = append(s.Ticks, series.Tick{ID: at, At: span(at, at).From})
	}
	return s
}
