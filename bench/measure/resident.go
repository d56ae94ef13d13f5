package measure

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Resident is a reading of the process' resident memory, in bytes.
type Resident struct {
	Now  int64
	Peak int64 // since the start, or since ForgetPeak
}

// ReadResident reads /proc/self/status: VmRSS and VmHWM, in KiB there.
func ReadResident() (Resident, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Resident{}, fmt.Errorf("read resident memory: %w", err)
	}
	now, err := statusKiB(status, "VmRSS:")
	if err != nil {
		return Resident{}, err
	}
	peak, err := statusKiB(status, "VmHWM:")
	return Resident{now << 10, peak << 10}, err
}

func statusKiB(status []byte, name string) (int64, error) {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		fields := bytes.Fields(rest)
		if len(fields) != 2 || string(fields[1]) != "kB" {
			break
		}
		n, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read resident memory: %s %w", name, err)
		}
		return n, nil
	}
	return 0, errors.New("read resident memory: no line " + name)
}

// ForgetPeak makes the peak begin anew (proc(5), clear_refs).
func ForgetPeak() error {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak of resident memory: %w", err)
	}
	return nil
}
