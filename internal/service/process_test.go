package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/testdb"
)

// process is corewait serve as a process.
type process struct {
	cmd   *exec.Cmd
	log   *logged
	guard *guard

	listening      chan struct{} // closed once requests are answered
	agents, people string        // known from then on
	ended          chan struct{} // closed once it has ended
	err            error         // how, known from then on: nil for status 0
}

// configuration writes a configuration for processes, whose listeners have any
// ports, and gives its path.
func configuration(t *testing.T, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "corewait.yaml")
	if err := os.WriteFile(file, []byte(anyPorts+"log: {format: json, level: debug}\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// serve starts a process on a database. It does not wait until that listens.
func serve(program, file, address string) (*process, error) {
	p := &process{log: &logged{}, listening: make(chan struct{}), ended: make(chan struct{})}
	p.cmd = exec.Command(program, "serve", "--config", file)
	p.cmd.Env = append(os.Environ(), config.URLVariable+"="+address)
	output, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if p.guard, err = watch(p.cmd.Process.Pid); err != nil {
		return nil, errors.Join(err, p.cmd.Process.Kill(), p.cmd.Wait())
	}
	go p.follow(output)
	return p, nil
}

// mustServe starts a process, which ends with the test, and waits until it listens.
func mustServe(t *testing.T, program, file, address string) *process {
	t.Helper()
	p, err := serve(program, file, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill9)
	select {
	case <-p.listening:
	case <-p.ended:
		t.Fatalf("corewait serve ended: %v\n%s", p.err, p.log)
	case <-time.After(patience):
		t.Fatalf("corewait serve does not listen:\n%s", p.log)
	}
	return p
}

// follow reads the log to its end, which comes when the process ends.
func (p *process) follow(output io.Reader) {
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadBytes('\n')
		_, _ = p.log.Write(line) // never fails
		var said struct {
			Message string `json:"msg"`
			Agents  string `json:"agents"`
			People  string `json:"people"`
		}
		if json.Unmarshal(line, &said) == nil && said.Message == "listening" {
			p.agents, p.people = said.Agents, said.People
			close(p.listening)
		}
		if err != nil {
			break
		}
	}
	p.err = p.cmd.Wait()
	p.guard.release()
	close(p.ended)
}

// kill9 kills the process, unless it has ended, and waits for its end.
func (p *process) kill9() {
	_ = p.cmd.Process.Kill() // it has ended
	<-p.ended
}

// signal sends a signal.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
}

// terminate stops the process as an init system does: its status must be 0.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("SIGTERM does not end it:\n%s", p.log.last(20))
	}
	if p.err != nil {
		t.Errorf("SIGTERM ended it with %v:\n%s", p.err, p.log.last(20))
	}
}

// guard is a process that kills another one once this has ended, which nothing
// within this process could do after a panic or a timeout.
type guard struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

// watch starts a guard. Its input ends when this process does; a line of it says
// that the other one has ended.
func watch(pid int) (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", `trap '' INT TERM HUP QUIT; read -r _ || kill -9 "$1"`, "sh", strconv.Itoa(pid))}
	var err error
	if g.input, err = g.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return g, g.cmd.Start()
}

func (g *guard) release() {
	_, _ = fmt.Fprintln(g.input, "ended") // nothing hangs on it
	_ = g.input.Close()
	_ = g.cmd.Wait()
}

func TestAProcessHangsUpAndTerminates(t *testing.T) {
	t.Parallel()
	corewait := program(t)
	file, address := configuration(t, ""), testdb.New(t)
	p := mustServe(t, corewait, file, address)
	a := newAgent(t, openStore(t, address), "db1")
	a.mustPush(p.agents, 1)

	if err := os.WriteFile(file, []byte(anyPorts+"log: {format: json, level: info}\njobs: {review: '1 2 3 4 *'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGHUP)
	until(t, "it has taken the configuration", func() bool { return strings.Contains(p.log.String(), reloaded) })
	if _, body := get(t, p.people+"/api/v1/status"); !strings.Contains(body, `"schedule": "1 2 3 4 *"`) {
		t.Errorf("the status is %s", body)
	}
	a.mustPush(p.agents, 2)
	p.terminate(t)
	for sequence, f := range a.find(connect(t, address), 2)[1:] {
		if !f.equal(stored(1)) {
			t.Errorf("batch %d: stored are %+v", sequence+1, f)
		}
	}
	if strings.Contains(p.log.String(), a.token.Text[len(a.token.ID)+1:]) {
		t.Error("the log holds a token's secret")
	}
}

func TestAProcessWhoseDatabaseIsAwayEndsWithOneLine(t *testing.T) {
	t.Parallel()
	corewait := program(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, corewait, "serve", "--config", configuration(t, ""))
	cmd.Env = append(os.Environ(), config.URLVariable+"=postgres://corewait:hidden@localhost:1/corewait")
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 1 {
		t.Errorf("it ended with %v, want status 1", err)
	}
	if text := string(out); strings.Count(text, "\n") != 1 || !strings.Contains(text, "connection refused") || strings.Contains(text, "hidden") {
		t.Errorf("it said %s", text)
	}
}
