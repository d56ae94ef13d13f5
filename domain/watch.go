package domain

import "regexp"

// Watch pairs the processes that do a job with the wait events of the
// sessions that depend on it. The engine knows watches, not LGWR.
type Watch struct {
	Name string
	// Process matches the command of a thread that does the job itself;
	// Workers that of its helpers. Group 1 is the instance name (SID).
	Process, Workers *regexp.Regexp
	// Events are the waits of the sessions that depend on it.
	Events []string
	// OwnWait is the wait that the process itself times while it does the
	// job's I/O, "" where it does none. Time stolen from the process inflates it.
	OwnWait string
}

// WatchLGWR is the watch of commits: sessions in log file sync depend on LGWR
// and, since 12c, on its workers LG00 to LG99. ASM's own LGWR (asm_lgwr_+ASM)
// does not match.
func WatchLGWR() Watch {
	return Watch{
		Name:    "lgwr",
		Process: regexp.MustCompile(`^ora_lgwr_([A-Za-z0-9_$#]+)$`),
		Workers: regexp.MustCompile(`^ora_lg[0-9][0-9]_([A-Za-z0-9_$#]+)$`),
		Events:  []string{EventLogFileSync},
		OwnWait: EventLogFileParallelWrite,
	}
}

// WatchLMS is the watch of Cache Fusion: sessions in gc waits depend on the
// LMS processes of the instance that serves the block: LMS0 and its like, each
// of which counts where it ran.
func WatchLMS() Watch {
	return Watch{
		Name:    "lms",
		Process: regexp.MustCompile(`^ora_lms0_([A-Za-z0-9_$#]+)$`),
		Workers: regexp.MustCompile(`^ora_lms[1-9a-z]_([A-Za-z0-9_$#]+)$`),
		Events: []string{
			"gc cr block 2-way", "gc cr block 3-way", "gc cr block busy", "gc cr block congested", "gc cr request",
			"gc cr multi block request", "gc current block 2-way", "gc current block 3-way", "gc current block busy",
			"gc current block congested", "gc current request", "gc current multi block request",
			"gc buffer busy acquire", "gc buffer busy release",
		},
	}
}

// Watches are the watches that ship.
func Watches() []Watch { return []Watch{WatchLGWR(), WatchLMS()} }

// WatchNamed gives the watch of that name.
func WatchNamed(name string) (Watch, bool) {
	for _, w := range Watches() {
		if w.Name == name {
			return w, true
		}
	}
	return Watch{}, false
}

// Instance gives the SID that a command of the watch names, and whether the
// command belongs to the watch; worker says which kind it is.
func (w *Watch) Instance(command string) (sid string, worker, ok bool) {
	if m := w.Process.FindStringSubmatch(command); m != nil {
		return m[1], false, true
	}
	if m := w.Workers.FindStringSubmatch(command); m != nil {
		return m[1], true, true
	}
	return "", false, false
}
