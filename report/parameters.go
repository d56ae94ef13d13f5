package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
)

// parameterMeanings says in a line what each threshold of the method does.
var parameterMeanings = map[string]string{
	"threshold_ns":     "a wait at least this long is slow",
	"heavy_per_second": "a CPU with more device interrupts/s (storage left out) is heavy",
	"heavy_time_share": "so is one with more of its time in irq and softirq",
	"heavy_window_ns":  "the set of heavy CPUs is fixed for at most this long",
	"load_from_ns":     "the load of an instant is the mean from this long before it",
	"load_to_ns":       "to this long before it",
	"load_strata":      "levels of load within which is compared",
	"burst_from_ns":    "load in bursts of seconds: the mean from this long before",
	"burst_to_ns":      "to this long before",
	"burst_strata":     "levels of bursts",
	"block_ns":         "shortest block of time within which is compared",
	"permutations":     "random draws behind each p",
	"bootstraps":       "resamplings behind each interval",
	"seed":             "of the random draws: the same files give the same finding",
	"supported_p":      "supported: p at most",
	"supported_ratio":  "supported: lower end of the ratio's interval at least",
	"supported_stalls": "supported: stalls on heavy CPUs at least",
	"supported_visits": "supported: in at least as many stays",
	"rejected_ratio":   "rejected: upper end of the ratio's interval under",
	"coarse_kappa":     "placement that agrees with itself less carries no verdict",
	"rejected_kappa":   "rejected: agreement at least",
	"exposed_low":      "with less of the time on heavy CPUs only the dose counts",
	"exposed_high":     "with more of it as well",
	"main_share":       "overall verdict: explains at least this share of the stalls",
	"main_share_low":   "overall verdict: lower end of that share's interval at least",
	"rival_share":      "overall verdict: no rival explains more of the same stalls",
	"min_stalls":       "fewer stalls are not enough data",
	"onset_window_ns":  "a rival is looked for so long before a stall begins",
	"many_times":       "times the median that are out of the ordinary",
	"slow_await_ms":    "storage: device await over this, and out of the ordinary",
	"steal_share":      "steal: over this share of all CPUs' time",
	"system_share":     "saturation: system time over this share of all CPUs' time",
	"swap_kib_per_s":   "swapping: over this",
}

// parameters lists the thresholds that the finding rests on.
func parameters(f *domain.Finding) []Block {
	raw, err := json.Marshal(f.Params)
	if err != nil || f.Params == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	t := &Table{Columns: []Column{{"parameter", Left}, {"value", Right}, {"meaning", Left}}}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
		t.Rows = append(t.Rows, parameterRow(fmt.Sprint(key), string(value)))
	}
	return []Block{{Table: t}}
}

// parameterRow writes nanoseconds as a duration and numbers with few digits.
func parameterRow(name, value string) []string {
	meaning := parameterMeanings[name]
	if short, ok := strings.CutSuffix(name, "_ns"); ok {
		if d, err := time.ParseDuration(value + "ns"); err == nil {
			name, value = short, roundDuration(d)
		}
	} else if v, err := strconv.ParseFloat(value, 64); err == nil && strings.Contains(value, ".") {
		value = shortNumber(v)
	}
	return []string{strings.ReplaceAll(name, "_", " "), value, meaning}
}

// roundDuration writes a length of time without units that are zero.
func roundDuration(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	case d >= time.Minute && d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d%time.Second == 0:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d%time.Millisecond == 0:
		return strconv.Itoa(int(d/time.Millisecond)) + " ms"
	}
	return d.String()
}
