// Package procfmt parses the text that the kernel shows under /proc, and that
// lscpu and numactl print about the same hardware, into the nouns of package
// domain. The agent feeds it live files, the readers of logs feed it lines.
//
// It owns the shape of that text and nothing else: it opens no file, knows no
// clock (a snapshot's At is left to the caller) and keeps no rates. Parsers of
// files that are read every second are reusable and allocate nothing once they
// have seen the same shape before.
//
// A row that cannot be read with certainty is an error and is left out of the
// snapshot; its counters are then unknown, never zero.
package procfmt
