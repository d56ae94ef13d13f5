package files

import (
	"strings"
	"testing"
	"time"
)

// What fuzzing found: values that stand in a file and cannot be.
func TestValuesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	const banner = "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n"
	for name, tt := range map[string]struct{ kind, text, why string }{
		"a thread without a name": {
			"pidstat", banner + "10:00:00   UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01   500         -      4712    4.00    1.00    0.00    0.00    5.00     3  |__\n", "no command",
		},
		"a boot in 2279": {"stat", "1796006412\n" + strings.Replace(seedStat, "1757462400", "9757462400", 1), "beyond the year 2200"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, of := range knownFormats() {
				if string(of.kind) != tt.kind {
					continue
				}
				rec, in := readAnything(t, &of, []byte(tt.text))
				if in.bad.count != 1 || !strings.Contains(in.bad.first[0], tt.why) || len(rec.placements) > 0 {
					t.Errorf("problems %v, records %s", in.bad.first, rec.text())
				}
			}
		})
	}
}

// 7289654399 is 2200-12-31 23:59:59 UTC (date -u -d @7289654399).
func TestSecondsSince1970EndWithTheYear2200(t *testing.T) {
	t.Parallel()
	last, ok := parseTimeLine([]byte("7289654399"), time.UTC)
	if !ok || last.at.Format(time.RFC3339) != "2200-12-31T23:59:59Z" {
		t.Errorf("read as %v, %v", last.at, ok)
	}
	for _, line := range []string{"7289654400", "9999999999", "9999999999.5", "9999999999999"} {
		if l, ok := parseTimeLine([]byte(line), time.UTC); ok {
			t.Errorf("%s is read as %v", line, l.at)
		}
		if _, _, ok := epochTime([]byte(line)); ok {
			t.Errorf("%s is the time of a row", line)
		}
	}
	if unix, _, ok := epochTime([]byte("7289654399 x")); !ok || unix != 7289654399 {
		t.Errorf("the last second is read as %d, %v", unix, ok)
	}
}
