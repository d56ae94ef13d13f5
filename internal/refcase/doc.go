// Package refcase generates what a database node would have recorded in an
// hour, with a known cause of its commit stalls. It owns the physical model:
// load, device interrupts, the CPUs that LGWR visits, what delays LGWR, and
// how pidstat, vmstat, mpstat, iostat, /proc/interrupts, ASH and the V$ views
// would have shown it. A Scenario sends its records to an ingest.Sink; a
// FileWriter is a Sink that writes them as the files those tools write.
//
// Everything follows from the scenario and its seed: the same scenario gives
// the same records, byte for byte. The package knows nothing of readers, of
// the engine or of verdicts other than the true one.
package refcase
