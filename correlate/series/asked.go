package series

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AbsentError says that the records hold none of what an option asks for.
type AbsentError struct{ What string }

func (e *AbsentError) Error() string { return e.What }

// holds refuses an instance or an INST_ID that the records do not have, where
// they name others.
func (b *Builder) holds(want Choice) error {
	if want.Instance != "" && !b.mayBeNamed(want.Instance) {
		if names := b.instanceNames(); len(names) > 0 {
			return &AbsentError{fmt.Sprintf("--instance %s: no such instance in these files, which hold %s", want.Instance, strings.Join(names, ", "))}
		}
	}
	if want.InstID >= 0 {
		if ids := b.namedInstIDs(); len(ids) > 0 && !slices.Contains(ids, want.InstID) {
			return &AbsentError{fmt.Sprintf("--inst-id %d: none of Oracle's rows has it; they have %s", want.InstID, joinInts(ids))}
		}
	}
	return nil
}

// instanceNames lists the instances that processes or V$INSTANCE name.
func (b *Builder) instanceNames() []string {
	names := map[string]bool{}
	for _, sid := range b.threadSID {
		names[sid] = true
	}
	for _, i := range b.instances {
		names[i.Name] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// mayBeNamed says whether a process or V$INSTANCE names the instance, or a
// process does whose command may have been cut before the name's end.
func (b *Builder) mayBeNamed(instance string) bool {
	if slices.ContainsFunc(b.instanceNames(), func(n string) bool { return strings.EqualFold(n, instance) }) {
		return true
	}
	for k, sid := range b.threadSID {
		if len(k.command) == commandBytes && len(sid) <= len(instance) && strings.EqualFold(instance[:len(sid)], sid) {
			return true
		}
	}
	return false
}

// namedInstIDs lists the INST_IDs that any of Oracle's rows has.
func (b *Builder) namedInstIDs() []int {
	set := map[int]bool{}
	for k := range b.waits {
		set[k.inst] = true
	}
	for k := range b.ticks {
		set[k.inst] = true
	}
	for k := range b.hist {
		set[k.inst] = true
	}
	for k := range b.counters {
		set[k.inst] = true
	}
	for id := range b.instances {
		set[id] = true
	}
	return slices.DeleteFunc(sortedKeys(set), func(id int) bool { return id < 0 })
}

// besideRecords is how much of a window asked for is kept on each side of the
// records: what follows costs time and memory by the second.
const besideRecords = 3600 * Second

// nearRecords gives the window asked for without the time that lies far from
// all records.
func (b *Builder) nearRecords() Span {
	asked := b.window
	host, oracle, _ := b.Extents()
	all := emptySpan()
	for _, s := range []Span{host, oracle} {
		if s != (Span{}) {
			all.grow(s.From)
			all.grow(s.To)
		}
	}
	if all.From > all.To {
		return asked
	}
	if asked.From > noFrom {
		asked.From = max(asked.From, all.From-besideRecords)
	}
	if asked.To < noTo {
		asked.To = min(asked.To, all.To+besideRecords)
	}
	return asked
}
