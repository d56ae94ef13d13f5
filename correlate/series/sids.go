package series

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// commandBytes is how much of a command the kernel keeps in comm
// (TASK_COMM_LEN, 16 with the final NUL): pidstat and ps print no more, so
// "ora_lgwr_ORDPROD1" shows as "ora_lgwr_ORDPRO".
const commandBytes = 15

// completeSIDs completes instance names that commands may have cut: with the
// one that was asked for, with V$INSTANCE, or with a longer one of another
// command, where exactly one begins so. It gives a warning for each that stays
// doubtful.
func (b *Builder) completeSIDs(asked string) []string {
	whole := map[string]bool{}
	if asked != "" {
		whole[asked] = true
	}
	for _, i := range b.instances {
		whole[i.Name] = true
	}
	cut := map[string]bool{}
	for k, sid := range b.threadSID {
		if len(k.command) == commandBytes {
			cut[sid] = true
		} else {
			whole[sid] = true
		}
	}
	var warnings []string
	for _, sid := range slices.Sorted(maps.Keys(cut)) {
		if whole[sid] {
			continue
		}
		full := ""
		matches := 0
		for _, w := range slices.Sorted(maps.Keys(whole)) {
			if len(w) >= len(sid) && strings.EqualFold(w[:len(sid)], sid) {
				full = w
				matches++
			}
		}
		if matches != 1 {
			warnings = append(warnings, fmt.Sprintf("the instance name %s comes from a command of 15 bytes and may be cut; --instance gives the whole name", sid))
			continue
		}
		for k, s := range b.threadSID {
			if s == sid && len(k.command) == commandBytes {
				b.threadSID[k] = full
			}
		}
	}
	return warnings
}
