//go:build linux

package embedded

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// pipePatience is how long the pipe of a process that has ended may stay open
// in what it left behind: a server's sessions end with it, but not at once.
const pipePatience = 10 * time.Second

// process is a started program of PostgreSQL.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and err is set
	err  error
}

// command prepares a program. It is in a session of its own, so that what a
// terminal sends to the caller does not reach it, and dies with the caller.
func (a account) command(dir, program string, death syscall.Signal, output io.Writer, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // a program of the chosen PostgreSQL; it outlives the call that starts it
	cmd.Dir = dir
	// Nothing of the caller's environment: PGDATA, PGPORT and their like would
	// count, and its secrets would be readable in /proc.
	cmd.Env = []string{"PATH=" + filepath.Dir(program) + ":/usr/bin:/bin", "HOME=" + dir, "TZ=UTC", "LC_ALL=C.UTF-8"}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = pipePatience
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: death, Credential: a.credential}
	return cmd
}

// start starts a prepared program. The kernel sends Pdeathsig when the thread
// that started it ends, not the process (prctl(2), PR_SET_PDEATHSIG), and Go
// ends threads as it likes. So one goroutine keeps its thread from the start of
// the program to its end; only the end of the whole process takes it away.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run runs a program to its end and gives what it printed. When the context
// ends, the program ends at once, and all that it started with it.
func run(ctx context.Context, prepare func(output io.Writer) *exec.Cmd) (printed string, err error) {
	var output strings.Builder
	p, err := start(prepare(&output))
	if err != nil {
		return "", err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.killGroup()
		<-p.done
		return output.String(), context.Cause(ctx)
	}
	return output.String(), p.err
}

// killGroup ends the program and what it started in its session.
func (p *process) killGroup() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}

// ended waits for the end of the program, at most so long.
func (p *process) ended(ctx context.Context, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
