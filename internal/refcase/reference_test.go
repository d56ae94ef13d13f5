package refcase

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The tests of this file read the reference case back from its files with
// parsing of their own, as awk would: fields by blanks, columns by position.

func lines(t *testing.T, dir, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// blocks gives the time lines of an interrupt log and the lines after each.
func blocks(t *testing.T, dir string) (times []time.Time, text [][]string) {
	t.Helper()
	for _, line := range lines(t, dir, fileInterrupts) {
		if strings.HasPrefix(line, "2026-") {
			at, err := time.Parse("2006-01-02T15:04:05.000-07:00", line)
			if err != nil {
				t.Fatal(err)
			}
			times, text = append(times, at), append(text, nil)
			continue
		}
		text[len(text)-1] = append(text[len(text)-1], line)
	}
	return times, text
}

// deviceCounts reads the devices' lines of a block: counts by CPU, under the
// number and the handler.
func deviceCounts(t *testing.T, block []string) map[string][]uint64 {
	t.Helper()
	cpus := len(strings.Fields(block[0]))
	counts := map[string][]uint64{}
	for _, line := range block[1:] {
		f := strings.Fields(line)
		if f[0][0] < '0' || f[0][0] > '9' {
			continue
		}
		if len(f) < 2+cpus {
			t.Fatalf("short line %q", line)
		}
		row := make([]uint64, cpus)
		for i := range row {
			n, err := strconv.ParseUint(f[1+i], 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			row[i] = n
		}
		counts[f[0]+f[len(f)-1]] = row
	}
	return counts
}

// deviceRates gives, by CPU, the interrupts/s of devices in an interrupt log
// between its first and its last block: of all but storage, and of storage.
func deviceRates(t *testing.T, dir string) (network, storage []float64) {
	t.Helper()
	times, text := blocks(t, dir)
	last := len(times) - 1
	before, now := deviceCounts(t, text[0]), deviceCounts(t, text[last])
	for id, counts := range now {
		if network == nil {
			network, storage = make([]float64, len(counts)), make([]float64, len(counts))
		}
		into := network
		if strings.Contains(id, "nvme") {
			into = storage
		}
		for cpu := range counts {
			into[cpu] += float64(counts[cpu]-before[id][cpu]) / times[last].Sub(times[0]).Seconds()
		}
	}
	return network, storage
}

// giniOf is the formula in DESIGN's words: sum((2i-n-1) x_i) / (n sum x).
func giniOf(rates []float64) float64 {
	x := slices.Sorted(slices.Values(rates))
	weighted, sum := 0.0, 0.0
	for i := range x {
		weighted += float64(2*(i+1)-len(x)-1) * x[i]
		sum += x[i]
	}
	return weighted / (float64(len(x)) * sum)
}

func TestReferenceCaseIsTheCaseAsItIsTold(t *testing.T) {
	t.Parallel()
	dir, truth := writeFiles(t, Reference())

	t.Run("sixteen CPUs of one socket take over 1,000 interrupts/s each, CPU 28 most, with a Gini coefficient near 0.80", func(t *testing.T) {
		t.Parallel()
		checkInterrupts(t, dir, truth)
	})

	t.Run("the host is 80 % idle and its peak quarter of an hour has 7.8 % system time", func(t *testing.T) {
		t.Parallel()
		checkCPU(t, dir)
	})

	t.Run("about 85 samples of ASH show a stall of 5 to 12 sessions, nearly all while LGWR is on a heavy CPU", func(t *testing.T) {
		t.Parallel()
		checkStalls(t, dir, truth)
	})

	t.Run("the histogram counts as many waits as there were commits, and the long ones that samples cannot see", func(t *testing.T) {
		t.Parallel()
		checkHistogram(t, dir)
	})

	t.Run("disks, steal and swap look healthy", func(t *testing.T) {
		t.Parallel()
		checkRivals(t, dir)
	})
}

// checkInterrupts reads which CPUs are heavy, and how unequal they are.
func checkInterrupts(t *testing.T, dir string, truth Truth) {
	t.Helper()
	rates, storage := deviceRates(t, dir)
	var heavy []int
	busiest := 0
	for cpu, x := range rates {
		if x > 1000 {
			heavy = append(heavy, cpu)
		}
		if x > rates[busiest] {
			busiest = cpu
		}
	}
	want := []int{24, 25, 26, 27, 28, 29, 30, 31, 56, 57, 58, 59, 60, 61, 62, 63}
	if !slices.Equal(heavy, want) || !slices.Equal(truth.HeavyCPUs, want) {
		t.Errorf("heavy CPUs %v, truth %v, want %v", heavy, truth.HeavyCPUs, want)
	}
	if busiest != 28 {
		t.Errorf("busiest CPU %d, want 28", busiest)
	}
	if g := giniOf(rates); g < 0.79 || g > 0.81 {
		t.Errorf("Gini %.4f, want 0.79 to 0.81", g)
	}
	sum := 0.0
	for _, x := range storage {
		sum += x
	}
	if sum < 500 {
		t.Errorf("storage interrupts %.0f/s, want over 500: LGWR's writes complete somewhere", sum)
	}
}

// checkCPU reads idle and system time of the whole host.
func checkCPU(t *testing.T, dir string) {
	t.Helper()
	var idle, system []float64
	for _, line := range lines(t, dir, fileMpstat) {
		f := strings.Fields(line)
		if len(f) == 12 && f[1] == "all" {
			idle = append(idle, number(t, f[11]))
			system = append(system, number(t, f[4])+number(t, f[6])+number(t, f[7])) // sys + irq + soft
		}
	}
	if len(idle) != 120 { // an hour of half minutes
		t.Fatalf("%d intervals of mpstat, want 120", len(idle))
	}
	peak := 0.0
	for i := 0; i+30 <= len(system); i++ {
		peak = max(peak, mean(system[i:i+30]))
	}
	if x := mean(idle); math.Abs(x-80) > 1.5 {
		t.Errorf("idle %.2f %%, want about 80", x)
	}
	if math.Abs(peak-7.8) > 0.2 {
		t.Errorf("system time in the peak quarter %.2f %%, want about 7.8", peak)
	}
}

// checkRivals reads what would accuse the disks, the hypervisor or memory.
func checkRivals(t *testing.T, dir string) {
	t.Helper()
	var await []float64
	for _, line := range lines(t, dir, fileIostat) {
		if f := strings.Fields(line); len(f) == 15 && f[0] == "nvme0n1" {
			await = append(await, number(t, f[11]))
		}
	}
	if x := mean(await); len(await) != 3601 || math.Abs(x-0.5) > 0.05 {
		t.Errorf("%d write times with mean %.3f ms, want one since boot, 3600 and 0.5", len(await), x)
	}
	rows := 0
	for _, line := range lines(t, dir, fileVmstat)[2:] {
		f := strings.Fields(line)
		rows++
		if f[6] != "0" || f[7] != "0" || f[16] != "0" {
			t.Fatalf("swap or steal in %q", line)
		}
	}
	if rows != 3600 {
		t.Errorf("%d rows of vmstat, want 3600", rows)
	}
}

// lgwrByTime gives LGWR's CPU by the time of day that pidstat printed.
func lgwrByTime(t *testing.T, dir string) map[string]int {
	t.Helper()
	cpuAt := map[string]int{}
	for _, line := range lines(t, dir, filePidstat) {
		if f := strings.Fields(line); len(f) == 11 && f[10] == "ora_lgwr_ORDP1" {
			cpuAt[f[0][:8]] = int(number(t, f[9]))
		}
	}
	return cpuAt
}

// waitersBySample counts the commit waits of 0.1 s and more in each sample.
func waitersBySample(t *testing.T, dir string) map[string]int {
	t.Helper()
	waiters := map[string]int{}
	for _, row := range readCSV(t, dir, fileASH) {
		if row["EVENT"] == "log file sync" && number(t, row["TIME_WAITED"]) >= 100_000 {
			waiters[row["SAMPLE_TIME"]]++
		}
	}
	return waiters
}

// checkStalls joins ASH and pidstat by the second, as one would by eye.
func checkStalls(t *testing.T, dir string, truth Truth) {
	t.Helper()
	cpuAt := lgwrByTime(t, dir)
	heavy, placed, herds := 0.0, 0.0, 0
	for at, n := range waitersBySample(t, dir) {
		if n < 4 {
			continue // one session's own wait, or the edge of a stall
		}
		if n > 13 {
			t.Errorf("%d sessions waiting at %s, want at most a dozen and a stray one", n, at)
		}
		herds++
		if cpu, ok := cpuAt[at[11:19]]; ok {
			placed++
			if slices.Contains(truth.HeavyCPUs, cpu) {
				heavy++
			}
		}
	}
	if truth.StallTicks < 80 || truth.StallTicks > 90 {
		t.Errorf("%d samples show a stall, want 80 to 90", truth.StallTicks)
	}
	if math.Abs(float64(herds-truth.StallTicks)) > 4 {
		t.Errorf("%d samples with a herd in ash.csv, truth says %d", herds, truth.StallTicks)
	}
	if placed < 70 || heavy/placed < 0.8 {
		t.Errorf("%.0f of %.0f stalls on heavy CPUs by the second that pidstat prints, want over 80 %%", heavy, placed)
	}
	if truth.ExposedShare < 0.3 || truth.ExposedShare > 0.38 {
		t.Errorf("LGWR is on heavy CPUs for %.2f of the time, want about 0.34", truth.ExposedShare)
	}
}

// readCSV reads a file of SQL*Plus by its headings.
func readCSV(t *testing.T, dir, name string) []map[string]string {
	t.Helper()
	text, found := strings.CutPrefix(strings.Join(lines(t, dir, name), "\n"), "\n")
	if !found {
		t.Fatalf("%s does not begin with the empty line of SQL*Plus", name)
	}
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]map[string]string, 0, len(all))
	for _, values := range all[1:] {
		row := map[string]string{}
		for i, heading := range all[0] {
			row[heading] = values[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// commitWaitRises gives, by bucket, how many commit waits the histogram counted
// in the hour. A bucket that is listed later was empty at the first reading.
func commitWaitRises(t *testing.T, dir string) map[string]float64 {
	t.Helper()
	first, last := map[string]float64{}, map[string]float64{}
	for _, row := range readCSV(t, dir, fileHistogram) {
		if at := row["LAST_UPDATE_TIME"]; at != "" {
			if _, err := time.Parse("02-Jan-06 03.04.05.000000 PM -07:00", at); err != nil {
				t.Fatal(err)
			}
		}
		if row["EVENT"] != "log file sync" {
			continue
		}
		waits, bucket := number(t, row["WAIT_COUNT"]), row["WAIT_TIME_MICRO"]
		if row["SNAP_TIME"] < "2026-06-16 09:00:05" {
			first[bucket] = waits
		}
		last[bucket] = waits
	}
	for bucket := range last {
		last[bucket] -= first[bucket]
	}
	return last
}

// checkHistogram compares the census of waits with the commits that were
// counted and with the waits that samples met.
func checkHistogram(t *testing.T, dir string) {
	t.Helper()
	total, long := 0.0, 0.0
	for bucket, rise := range commitWaitRises(t, dir) {
		total += rise
		if number(t, bucket) > 131_072 {
			long += rise
		}
	}

	// Some 300 stalls of 5 to 12 sessions, nine in ten of them over 0.131 s.
	if long < 1000 {
		t.Fatalf("%.0f long waits in the histogram, want thousands", long)
	}

	var commits []float64
	for _, row := range readCSV(t, dir, fileSysstat) {
		if row["NAME"] == "user commits" {
			commits = append(commits, number(t, row["VALUE"]))
		}
	}
	if made := commits[len(commits)-1] - commits[0]; made <= 0 || math.Abs(total/made-1) > 0.01 {
		t.Errorf("%.0f waits in the histogram, %.0f commits, want them within 1 %%", total, made)
	}

	seen := 0.0
	for _, row := range readCSV(t, dir, fileASH) {
		if row["EVENT"] == "log file sync" && number(t, row["TIME_WAITED"]) >= 131_072 {
			seen++
		}
	}
	// Samples a second apart meet a wait of 0.13 to 0.6 s with a chance of its
	// length: about a third of them.
	if share := seen / long; share < 0.2 || share > 0.5 {
		t.Errorf("samples met %.0f of %.0f long waits, a share of %.2f, want about a third", seen, long, share)
	}
}
