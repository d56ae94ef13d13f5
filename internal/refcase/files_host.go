package refcase

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
)

// oracleUser is the numeric id that pidstat prints for the software owner.
const oracleUser = 54321

// linesPerHeading is after how many lines pidstat repeats its heading.
const linesPerHeading = 40

// Placement writes the rows of pidstat -t: one of the process, one of its
// only thread.
func (w *FileWriter) Placement(p domain.Placement) error {
	f, err := w.open(filePidstat, w.banner())
	if err != nil {
		return err
	}
	at := w.clock(p.At)
	if !p.At.Equal(w.lastPlace) && (w.lines == 0 || w.lines >= linesPerHeading) {
		err = f.print("\n%-11s   UID      TGID       TID    %%usr %%system  %%guest   %%wait    %%CPU   CPU  Command\n", at)
		if err != nil {
			return err
		}
		w.lines = 0
	}
	w.lastPlace = p.At
	w.lines += 2
	use := 100 * p.CPUShare
	user := roundTo(0.64*use, 100)
	numbers := fmt.Sprintf("%7.2f %7.2f %7.2f  %7.2f %7.2f   %3d", user, use-user, 0.0, 100*p.WaitShare, use, p.CPU)
	return f.print("%-11s %5d %9d %9s %s  %s\n%-11s %5d %9s %9d %s  |__%s\n",
		at, oracleUser, p.PID, "-", numbers, p.Command, at, oracleUser, "-", p.TID, numbers, p.Command)
}

// CPU writes the rows of mpstat -P ALL.
func (w *FileWriter) CPU(c domain.CPUSample) error {
	f, err := w.open(fileMpstat, w.banner())
	if err != nil {
		return err
	}
	at, cpu := w.clock(c.At), "all"
	if !c.At.Equal(w.lastCPU) {
		w.lastCPU = c.At
		err = f.print("\n%-11s  CPU    %%usr   %%nice    %%sys %%iowait    %%irq   %%soft  %%steal  %%guest  %%gnice   %%idle\n", at)
		if err != nil {
			return err
		}
	}
	if c.CPU != domain.AllCPUs {
		cpu = strconv.Itoa(c.CPU)
	}
	return f.print("%-11s %4s %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f\n", at, cpu,
		100*c.User, 100*c.Nice, 100*c.System, 100*c.IOWait, 100*c.IRQ, 100*c.SoftIRQ, 100*c.Steal, 100*c.Guest, 0.0, 100*c.Idle)
}

// System writes the rows of vmstat -wt.
func (w *FileWriter) System(s domain.SystemSample) error {
	zone, _ := s.At.In(w.zone).Zone()
	f, err := w.open(fileVmstat, fmt.Sprintf(
		"procs -----------------------memory---------------------- ---swap-- -----io---- -system-- --------cpu-------- -----timestamp-----\n"+
			"%4s %4s %12s %12s %12s %12s %4s %4s %5s %5s %4s %4s %3s %3s %3s %3s %3s %19s\n",
		"r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy", "id", "wa", "st", zone))
	if err != nil {
		return err
	}
	const swapped, free, buffers, cache, blocksIn, blocksOut = 0, 21_334_912, 188_044, 87_120_336, 1120, 5200 // KiB
	return f.print("%4.0f %4.0f %12d %12d %12d %12d %4.0f %4.0f %5d %5d %4.0f %4.0f %3.0f %3.0f %3.0f %3.0f %3.0f %s\n",
		s.RunQueue, s.Blocked, swapped, free, buffers, cache, s.SwapInPerS, s.SwapOutPerS, blocksIn, blocksOut,
		s.InterruptsPerS, s.ContextSwitchesPerS, 100*s.User, 100*s.System, 100*s.Idle, 100*s.IOWait, 100*s.Steal,
		s.At.In(w.zone).Format(time.DateTime))
}

// Disk writes the blocks of iostat -dxt, of which the first averages since boot.
func (w *FileWriter) Disk(d domain.DiskSample) error {
	f, known := w.files[fileIostat]
	if !known {
		var err error
		if f, err = w.open(fileIostat, w.banner()); err != nil {
			return err
		}
		sinceBoot := domain.DiskSample{
			At: d.At.Add(-d.Interval), Device: d.Device,
			ReadsPerS: 96.2, WritesPerS: 310.5, ReadAwaitMS: 0.41, WriteAwaitMS: 0.49, QueueSize: 0.19, Utilisation: 0.16,
		}
		if err := w.disk(f, sinceBoot); err != nil {
			return err
		}
	}
	return w.disk(f, d)
}

func (w *FileWriter) disk(f *outFile, d domain.DiskSample) error {
	const kibPerIO = 8
	return f.print("\n%s\nDevice            r/s     rkB/s   rrqm/s  %%rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %%wrqm w_await wareq-sz  aqu-sz  %%util\n"+
		"%-10s %10.2f %9.2f %8.2f %6.2f %7.2f %8.2f %7.2f %9.2f %8.2f %6.2f %7.2f %8.2f %7.2f %6.2f\n",
		d.At.In(w.zone).Format("2006-01-02T15:04:05-0700"), d.Device,
		d.ReadsPerS, d.ReadsPerS*kibPerIO, 0.0, 0.0, d.ReadAwaitMS, float64(kibPerIO),
		d.WritesPerS, d.WritesPerS*kibPerIO, 0.0, 0.0, d.WriteAwaitMS, float64(kibPerIO), d.QueueSize, 100*d.Utilisation)
}

// Topology writes what lscpu prints, and a file for each bond.
func (w *FileWriter) Topology(t domain.Topology) error {
	if len(t.CPUs) > 0 {
		f, err := w.open(fileLscpu, "")
		if err != nil {
			return err
		}
		if err := f.write([]byte(w.lscpu(&t))); err != nil {
			return err
		}
	}
	if err := w.cpuTable(&t); err != nil {
		return err
	}
	for _, b := range t.Bonds {
		f, err := w.open(b.Name, "")
		if err != nil {
			return err
		}
		if err := f.write([]byte(bonding(b))); err != nil {
			return err
		}
	}
	return nil
}

// cpuTable writes what lscpu -p prints, where cores are known.
func (w *FileWriter) cpuTable(t *domain.Topology) error {
	if len(t.CPUs) == 0 || t.CPUs[0].Core < 0 {
		return nil
	}
	f, err := w.open(fileLscpuList, "# The following is the parsable format, which can be fed to other\n"+
		"# programs. Each different item in every column has an unique ID\n# starting from zero.\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n")
	if err != nil {
		return err
	}
	for _, c := range t.CPUs {
		// The first two levels of cache belong to a core, the third to a socket.
		if err := f.print("%d,%d,%d,%d,,%d,%d,%d,%d\n", c.ID, c.Core, c.Socket, c.Node, c.Core, c.Core, c.Core, c.Socket); err != nil {
			return err
		}
	}
	return nil
}

// lscpu is the text of util-linux 2.32's lscpu.
func (w *FileWriter) lscpu(t *domain.Topology) string {
	byNode := map[int][]int{}
	ids := make([]int, 0, len(t.CPUs))
	for _, c := range t.CPUs {
		byNode[c.Node] = append(byNode[c.Node], c.ID)
		ids = append(ids, c.ID)
	}
	var b strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&b, "%-20s %v\n", name+":", value) }
	row("Architecture", "x86_64")
	row("CPU op-mode(s)", "32-bit, 64-bit")
	row("Byte Order", "Little Endian")
	row("CPU(s)", len(ids))
	row("On-line CPU(s) list", cpuList(ids))
	row("Thread(s) per core", w.built.ThreadsPerCore)
	row("Core(s) per socket", w.built.CoresPerSocket)
	row("Socket(s)", w.built.Sockets)
	row("NUMA node(s)", len(byNode))
	row("Vendor ID", "GenuineIntel")
	row("CPU family", 6)
	row("Model", 85)
	row("Stepping", 4)
	row("CPU MHz", "3200.000")
	for node := range len(byNode) {
		row(fmt.Sprintf("NUMA node%d CPU(s)", node), cpuList(byNode[node]))
	}
	return b.String()
}

// cpuList joins ascending ids as the kernel does: 0-7,32-39.
func cpuList(ids []int) string {
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(ids[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ids[i], ids[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// bonding is the text of /proc/net/bonding/<bond>.
func bonding(b domain.Bond) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Ethernet Channel Bonding Driver: v%s\n\n", kernel)
	fmt.Fprintf(&out, "Bonding Mode: %s\nPrimary Slave: None\nCurrently Active Slave: %s\n", b.Mode, b.ActiveSlave)
	out.WriteString("MII Status: up\nMII Polling Interval (ms): 100\nUp Delay (ms): 0\nDown Delay (ms): 0\nPeer Notification Delay (ms): 0\n")
	for i, slave := range b.Slaves {
		fmt.Fprintf(&out, "\nSlave Interface: %s\nMII Status: up\nSpeed: 25000 Mbps\nDuplex: full\nLink Failure Count: 0\n", slave)
		fmt.Fprintf(&out, "Permanent HW addr: 02:00:5e:10:00:%02x\nSlave queue ID: 0\n", 0x10+i)
	}
	return out.String()
}
