package files

import (
	"bytes"
	"context"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/procfmt"
)

// procFormats are the formats of files under /proc and of what lscpu and
// numactl print. All files under /proc share one reader, since one log may
// hold several.
func procFormats() []format {
	formats := make([]format, 0, 7)
	for _, f := range []struct {
		kind  Kind
		clock clock
		block procBlock
	}{
		{KindInterrupts, clockHost, blockInterrupts},
		{KindSoftirqs, clockHost, blockSoftirqs},
		{KindStat, clockHost, blockStat},
		{KindDiskstats, clockHost, blockDisks},
		{KindBonding, clockNone, blockBond},
	} {
		formats = append(formats, format{kind: f.kind, clock: f.clock, read: readProc, probe: func(head []byte) (probed, bool) {
			return probeProc(head, f.block)
		}})
	}
	return append(formats,
		format{kind: KindLscpu, clock: clockNone, probe: probeLscpu, read: readLscpu},
		format{kind: KindNumactl, clock: clockNone, probe: probeNumactl, read: readNumactl},
		format{kind: KindSysfs, clock: clockNone, probe: probeSysfs, read: readSysfs},
	)
}

// maxStrange is how many lines that belong to nothing may stand before the
// first block: banners and prompts, not another kind of file.
const maxStrange = 50

// probeProc reads the beginning of a file as a log of /proc and says whether
// it is one in which block comes first.
func probeProc(head []byte, block procBlock) (probed, bool) {
	if !mentionsProc(head, block) {
		return probed{}, false
	}
	in := probeInput(head)
	in.zone = time.UTC
	l := newProcLog(in, noReadings{})
	if err := l.read(context.Background()); err != nil || l.strange > maxStrange {
		return probed{}, false
	}
	if l.kind == blockNone && len(head) >= probeSize && (len(l.header) > 0 || isCutHeader(head)) {
		l.kind = blockInterrupts // of a host so large that probes see no row
	}
	if l.kind != block {
		return probed{}, false
	}
	p := probed{host: l.host}
	if block != blockBond { // bonds carry no times
		p.hasTimes, p.first, p.zone, p.absolute = l.timed, l.first.at, l.first.zone, l.first.absolute
	}
	return p, true
}

// mentionsProc spares files of other kinds the closer look.
func mentionsProc(head []byte, block procBlock) bool {
	switch block {
	case blockInterrupts, blockSoftirqs:
		return bytes.Contains(head, []byte("CPU"))
	case blockStat:
		return bytes.Contains(head, []byte("cpu"))
	case blockBond:
		return bytes.Contains(head, []byte("Bonding"))
	default:
		return true
	}
}

// isCutHeader says whether head ends within a line of CPU names.
func isCutHeader(head []byte) bool {
	line := head[bytes.LastIndexByte(head, '\n')+1:]
	end := bytes.LastIndexByte(line, ' ')
	return end > 0 && procfmt.IsCPUHeader(line[:end])
}

// noReadings takes the records of procLog and drops them.
type noReadings struct{ ingest.Sink }

func (noReadings) Interrupts(*domain.InterruptSnapshot) error { return nil }
func (noReadings) Softirqs(*domain.SoftirqSnapshot) error     { return nil }
func (noReadings) CPUTimes(*domain.CPUTimesSnapshot) error    { return nil }
func (noReadings) Disks(*domain.DiskSnapshot) error           { return nil }
func (noReadings) Topology(domain.Topology) error             { return nil }
