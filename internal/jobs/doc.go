// Package jobs runs the service's regular work: each tick of a job's schedule
// once, however many processes share the database, one run of a job at a time,
// with a deadline each. What one process began and did not finish, another takes
// over. It must not know what the jobs do, nor SQL.
//
// A process shows that it lives by a lease of its own, which it renews. A run
// holds a lease of its job. Both expire by the database's clock: 20 seconds after
// a process died, or lost the database, others may have what it had.
package jobs
