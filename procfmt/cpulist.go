package procfmt

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseCPUList reads the kernel's list form, "0-7,16-23" or "0,2,4", ascending
// or not. An empty list is a node without CPUs.
func ParseCPUList(list string) ([]int, error) {
	list = strings.TrimSpace(list)
	if list == "" {
		return nil, nil
	}
	var ids []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := cpuID(first)
		if err != nil {
			return nil, err
		}
		to := from
		if isRange {
			if to, err = cpuID(last); err != nil {
				return nil, err
			}
		}
		if to < from || len(ids)+to-from >= maxCPUs {
			return nil, fmt.Errorf("CPU list %.40q: range %.20q goes backwards or is too long", list, part)
		}
		for id := from; id <= to; id++ {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// cpuID reads one CPU id.
func cpuID(s string) (int, error) {
	id, err := strconv.ParseUint(s, 10, 32)
	if err != nil || id >= maxCPUs {
		return 0, fmt.Errorf("%.20q is not the id of a CPU", s)
	}
	return int(id), nil
}
