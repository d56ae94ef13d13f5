package jobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/corewait/corewait/store"
)

// Job is work that is done at the ticks of a schedule.
type Job struct {
	Name     string // a label of metrics and a part of its lease's name
	Schedule string // as ParseSchedule takes it
	Deadline time.Duration
	// Run does the work of a tick and says in a line what it did. It returns soon
	// after its context ends: until then nothing else runs the job, here or in
	// another process. It may be given a tick again whose run was broken off.
	Run func(ctx context.Context, tick time.Time) (detail string, err error)
}

func (j *Job) validate() (Schedule, error) {
	switch {
	case j.Name == "" || len(j.Name) > longestName:
		return Schedule{}, fmt.Errorf("job %q: its name must have 1 to %d bytes", j.Name, longestName)
	case j.Run == nil:
		return Schedule{}, fmt.Errorf("job %s: nothing to run", j.Name)
	case j.Deadline <= 0:
		return Schedule{}, fmt.Errorf("job %s: deadline of %v: must be positive", j.Name, j.Deadline)
	}
	schedule, err := ParseSchedule(j.Schedule)
	if err != nil {
		return Schedule{}, fmt.Errorf("job %s: %w", j.Name, err)
	}
	return schedule, nil
}

// longestName bounds names of jobs and holders, in bytes: with what stands before
// them they are names of leases.
const longestName = 200

// Claims is what processes share: *store.Store.
type Claims interface {
	ClaimTick(ctx context.Context, job string, tick time.Time, holder string) (claimed bool, err error)
	FinishTick(ctx context.Context, job string, tick time.Time, holder string, result store.JobResult, detail string) error
	AbandonedTicks(ctx context.Context, since time.Time) ([]store.JobRun, error)
	TakeOverTick(ctx context.Context, run store.JobRun, holder string) (taken bool, err error)
	JobStates(ctx context.Context, jobs []string) ([]store.JobState, error)

	AcquireLease(ctx context.Context, name, holder string, length time.Duration) (lease store.Lease, acquired bool, err error)
	RenewLease(ctx context.Context, lease store.Lease, length time.Duration) (store.Lease, error)
	ReleaseLease(ctx context.Context, lease store.Lease) error
	DeleteDeadProcesses(ctx context.Context, longer time.Duration) error
}

// Options of a Runner. The zero value is usable.
type Options struct {
	Log        *slog.Logger          // nil: nothing is logged
	Registerer prometheus.Registerer // nil: no metrics
	Now        func() time.Time      // what ticks are reckoned by; nil: time.Now

	Lease time.Duration // how long leases are; 0: 20 s
	Renew time.Duration // how often they are renewed; 0: a quarter of Lease
	Poll  time.Duration // how often it looks for ticks that others left or all missed; 0: 5 s
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Lease <= 0 {
		o.Lease = 20 * time.Second
	}
	if o.Renew <= 0 {
		o.Renew = o.Lease / 4
	}
	if o.Poll <= 0 {
		o.Poll = 5 * time.Second
	}
	return o
}

func (o *Options) validate() error {
	if o.Renew > o.Lease/2 {
		return fmt.Errorf("jobs: leases of %v renewed each %v: one renewal that fails must not lose them", o.Lease, o.Renew)
	}
	return nil
}

// NewHolder makes a name for this process that no other has had, on whichever
// host: processes of one name would share their leases and run jobs at once.
func NewHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	return fmt.Sprintf("%.100s/%d/%s", host, os.Getpid(), hex.EncodeToString(id[:]))
}

// Status is how a job stands, whichever process ran it last.
type Status struct {
	Job, Schedule string
	Next          time.Time // the next tick
	Running       bool      // in this process

	Tick       time.Time // of the newest run; zero: none is known
	Holder     string    // the process that ran it
	StartedAt  time.Time
	FinishedAt time.Time       // zero: under way
	Took       time.Duration   // 0 while it is under way
	Result     store.JobResult // empty while it is under way
	Detail     string

	Succeeded time.Time // when the newest run that went well ended; zero: none is known
	// Lag is now minus the first tick due that has not been done: zero where all
	// went well.
	Lag time.Duration
}

// Errors that callers decide on.
var (
	// ErrUnknownJob says that no job of that name is scheduled.
	ErrUnknownJob = errors.New("no such job")
	// ErrNotRunning says that the Runner is not started or is stopped.
	ErrNotRunning = errors.New("jobs are not started")

	errStopped = errors.New("the process stops")
)
