package testdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// poolerProgram is where Debian's package pgbouncer has it: not in everybody's PATH.
const poolerProgram = "/usr/sbin/pgbouncer"

// poolerPort is part of the name of the pooler's socket, and of nothing else.
const poolerPort = 6432

// poolerScript runs a pooler until the end of its input, and removes its folder.
// Its input is a pipe that nobody writes to and that ends with this process.
const poolerScript = `
trap '' INT TERM HUP QUIT
"$1" "$2/pgbouncer.ini" >"$2/log" 2>&1 &
read -r _
kill -9 $!
wait $!
rm -rf -- "$2"
`

// Pooler starts a pgbouncer in transaction mode before the server of an address,
// and gives the address of the same database through it. It has few connections to
// the server, and gives each transaction another one. The test is skipped, and says
// so, where pgbouncer is not installed.
func Pooler(t testing.TB, address string) string {
	t.Helper()
	program, err := exec.LookPath(poolerProgram)
	if err != nil {
		program, err = exec.LookPath(filepath.Base(poolerProgram))
	}
	if err != nil {
		t.Skipf("SKIPPED: needs pgbouncer (Debian's package pgbouncer): %v", err)
	}
	p := &pooler{program: program}
	if err := p.start(address); err != nil {
		t.Fatalf("testdb: pgbouncer: %v", errors.Join(err, p.stop()))
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of pgbouncer:\n%s", p.log())
		}
		if err := p.stop(); err != nil {
			t.Errorf("testdb: pgbouncer: %v", err)
		}
	})
	pooled, err := p.answers(t.Context())
	if err != nil {
		t.Fatalf("testdb: pgbouncer: %v", err)
	}
	return pooled
}

// pooler is a running pgbouncer in a temporary folder.
type pooler struct {
	program, folder string
	address         *pgx.ConnConfig // of the server
	cmd             *exec.Cmd
	hold            io.Closer
}

func (p *pooler) start(address string) error {
	var err error
	if p.address, err = pgx.ParseConfig(address); err != nil {
		return errors.New("the address cannot be read")
	}
	parent := os.TempDir()
	if len(parent) > longestTemporary {
		parent = "/tmp"
	}
	if p.folder, err = os.MkdirTemp(parent, "corewait-pooler-"); err != nil {
		return err
	}
	users := fmt.Sprintf("%s %s\n", quoted(p.address.User), quoted(p.address.Password))
	for name, text := range map[string]string{"pgbouncer.ini": p.settings(), "users": users} {
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	cmd := exec.Command("/bin/sh", "-c", poolerScript, "sh", p.program, p.folder) //nolint:gosec,noctx // our own folder; it outlives this call
	cmd.Dir = "/"
	apart(cmd)
	if os.Geteuid() == 0 { // which pgbouncer refuses
		if err := p.giveUp(cmd); err != nil {
			return err
		}
	}
	if p.hold, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	return nil
}

// settings are those of pgbouncer.ini (pgbouncer(5)). Parameters of a session that
// pgbouncer does not hold to are refused, as is its default.
func (p *pooler) settings() string {
	return fmt.Sprintf(`[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr =
listen_port = %d
unix_socket_dir = %s
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 5
server_round_robin = 1
max_client_conn = 100
server_tls_sslmode = prefer
`, p.address.Host, p.address.Port, poolerPort, p.folder, filepath.Join(p.folder, "users"))
}

// quoted is a text in the file of users.
func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// giveUp gives the folder, and the process, to the user that servers run as.
func (p *pooler) giveUp(cmd *exec.Cmd) error {
	named, err := user.Lookup(unprivileged)
	if err != nil {
		return err
	}
	uid, uidErr := strconv.ParseUint(named.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(named.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	for _, name := range []string{"pgbouncer.ini", "users", ""} {
		if err := os.Chown(filepath.Join(p.folder, name), int(uid), int(gid)); err != nil {
			return err
		}
	}
	runAs(cmd, uint32(uid), uint32(gid))
	return nil
}

// answers waits until the database is there, and gives its address.
func (p *pooler) answers(ctx context.Context) (string, error) {
	query := url.Values{"host": {p.folder}, "port": {strconv.Itoa(poolerPort)}}
	address := url.URL{Scheme: "postgres", User: url.User(p.address.User), Path: "/" + p.address.Database, RawQuery: query.Encode()}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		err := execute(ctx, address.String(), "SELECT 1")
		if err == nil {
			return address.String(), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%w\n%s", err, p.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// log is what the pooler said.
func (p *pooler) log() []byte {
	text, _ := os.ReadFile(filepath.Join(p.folder, "log"))
	return text
}

// stop ends the pooler and removes its folder.
func (p *pooler) stop() error {
	if p.cmd == nil {
		return os.RemoveAll(p.folder)
	}
	return errors.Join(p.hold.Close(), p.cmd.Wait())
}
