// Package domain holds the nouns that every other package shares: what Oracle
// says (Wait, Histogram, Counter), what a node does (InterruptSnapshot,
// Placement, CPUSample, SystemSample, DiskSample), how it is built (Topology),
// and what was concluded (Finding).
//
// It imports the standard library only and knows nothing of files, databases
// or statistics.
//
// Conventions: times are UTC instants; a time that a source cannot give is the
// zero Time. A float64 that is unknown is NaN, never zero; an integer that is
// unknown is negative where the type allows it, or has a Known companion. CPUs
// are logical CPUs under the kernel's own ids, never column positions.
package domain
