package analysis

import (
	"fmt"
	"strings"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
)

// need is a kind of input and the one line that collects it.
type need struct{ what, command string }

var (
	needWaits      = need{"commit waits", "corewait collect sql > collect.sql && sqlplus -s / as sysdba @collect.sql"}
	needPlacement  = need{"LGWR's CPU", "pidstat -t -p $(pgrep -d, -f 'ora_l(gwr|g[0-9][0-9])_') 1 900 > pidstat.txt"}
	needInterrupts = need{"interrupts per CPU", "for i in $(seq 180); do date -Ins; cat /proc/interrupts; sleep 5; done > interrupts.log"}
)

// nothingUsable says what could not be read, what is missing and how to
// collect it, in one line.
func nothingUsable(set *files.Set, problems []string) error {
	seen := notRead(set.Unknown(), problems)
	var how []string
	for _, n := range []need{needInterrupts, needPlacement, needWaits} {
		how = append(how, fmt.Sprintf("%s: %s", n.what, n.command))
	}
	return fmt.Errorf("%w: %w: no interrupts, placement or waits in the input%s; collect %s", ErrInput, errNothing, seen, strings.Join(how, "; "))
}

// notRead tells of the first line that could not be read, or else of the first
// file, and how many more there are.
func notRead(unknown []files.Unknown, problems []string) string {
	switch {
	case len(problems) > 0:
		return fmt.Sprintf(" (not read: %s%s)", problems[0], andMore(len(problems)-1))
	case len(unknown) > 0:
		return fmt.Sprintf(" (of no known kind: %s: %s%s)", unknown[0].Name, unknown[0].Reason, andMore(len(unknown)-1))
	}
	return ""
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; and %d more", n)
}

// missingKinds warns of what a finding lacks, each with the line that collects it.
func missingKinds(f *domain.Finding) []string {
	var out []string
	warn := func(n need) {
		out = append(out, fmt.Sprintf("no %s in the input: collect them with: %s", n.what, n.command))
	}
	if f.Waits == nil {
		warn(needWaits)
	}
	if f.Placement == nil {
		warn(needPlacement)
	}
	if f.Interrupts == nil {
		warn(needInterrupts)
	}
	return out
}
