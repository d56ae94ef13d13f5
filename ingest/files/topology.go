package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/procfmt"
)

// sameBond says whether nothing changed in a bond.
func sameBond(a, b domain.Bond) bool {
	return a.Mode == b.Mode && a.ActiveSlave == b.ActiveSlave && slices.Equal(a.Slaves, b.Slaves)
}

// probeLscpu recognises lscpu in its plain form, with -p, -e and -J.
func probeLscpu(head []byte) (probed, bool) {
	text := bytes.TrimSpace(head)
	if bytes.HasPrefix(text, []byte("{")) {
		return probed{}, bytes.Contains(text, []byte(`"lscpu"`)) || bytes.Contains(text, []byte(`"cpus"`)) && bytes.Contains(text, []byte(`"cpu"`))
	}
	met := 0
	for n := 0; n < 100 && len(text) > 0; n++ {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		if !procfmt.IsLscpu(line) {
			continue
		}
		// A heading of columns stands alone; the lines of plain output do not.
		if met++; met > 1 || bytes.HasPrefix(line, []byte("# CPU,")) || bytes.HasPrefix(line, []byte("CPU ")) {
			return probed{}, true
		}
	}
	return probed{}, false
}

func readLscpu(ctx context.Context, in *input, to ingest.Sink) error {
	return readTopology(ctx, in, to, procfmt.ParseLscpu)
}

// probeNumactl recognises numactl -H.
func probeNumactl(head []byte) (probed, bool) {
	for n := 0; n < 100 && len(head) > 0; n++ {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\n"))
		if procfmt.IsNumactl(line) {
			return probed{}, true
		}
	}
	return probed{}, false
}

func readNumactl(ctx context.Context, in *input, to ingest.Sink) error {
	return readTopology(ctx, in, to, procfmt.ParseNumactl)
}

// probeSysfs recognises a listing of ports or of IRQ affinity by its first line.
func probeSysfs(head []byte) (probed, bool) {
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	return probed{}, procfmt.IsSysfs(line)
}

func readSysfs(ctx context.Context, in *input, to ingest.Sink) error {
	return readTopology(ctx, in, to, procfmt.ParseSysfs)
}

// readTopology reads a whole file of one fragment of topology.
func readTopology(ctx context.Context, in *input, to ingest.Sink, parse func([]byte) (domain.Topology, error)) error {
	var text []byte
	for {
		line, err := in.lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text = append(append(text, line...), '\n')
		if len(text) > procfmt.MaxLscpu {
			in.problem(in.lines.number, fmt.Sprintf("longer than %s; not read", bytesInWords(procfmt.MaxLscpu)))
			return nil
		}
	}
	topology, err := parse(text)
	if err != nil {
		in.problem(1, err.Error())
		return nil
	}
	in.count++
	return to.Topology(topology)
}
