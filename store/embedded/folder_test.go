//go:build linux

package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// begin prepares a folder of a test: its files by name, an empty text being a
// folder.
func begin(t *testing.T, mode os.FileMode, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(parentFolder(t), "server")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		var err error
		if text == "" {
			err = os.Mkdir(filepath.Join(dir, name), 0o700)
		} else {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAFolderThatIsNotOursIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"somebody's files":           {"accounts.csv": "1;2\n"},
		"another cluster":            {"PG_VERSION": "15\n", "base": ""},
		"our names but no marker":    {"data": "", "lock": "1\n"},
		"a marker of another layout": {markerName: "private PostgreSQL of corewait, layout 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := begin(t, 0o711, files)
			_, err := Start(t.Context(), testOptions(dir))
			if !errors.Is(err, ErrForeign) {
				t.Errorf("got %v, want ErrForeign", err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != len(files) {
				t.Errorf("the folder holds %v now (%v)", entries, err)
			}
		})
	}
}

func TestAnEmptyFolderIsTaken(t *testing.T) {
	t.Parallel()
	dir := begin(t, 0o711, nil)
	s := mustStart(t, testOptions(dir))
	if got := query(t, s.URL(), "SELECT 1"); got != "1" {
		t.Errorf("read %q", got)
	}
}

func TestAClusterThatWasNeverFinishedIsMadeAnew(t *testing.T) {
	t.Parallel()
	// As a kill during initdb leaves it.
	dir := begin(t, 0o711, map[string]string{markerName: markerText, newName: "", lockName: "1\n"})
	if err := os.WriteFile(filepath.Join(dir, newName, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustStart(t, testOptions(dir))
	if got := query(t, s.URL(), "SELECT 1"); got != "1" {
		t.Errorf("read %q", got)
	}
}

func TestAFolderThatOthersCanWriteToIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o770, 0o707, 0o777 | os.ModeSticky} {
		_, err := Start(t.Context(), testOptions(begin(t, mode, nil)))
		if err == nil || !strings.Contains(err.Error(), "others may write to it") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

func TestAFolderOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	dir := begin(t, 0o711, nil)
	requireRoot(t)
	if err := os.Chown(dir, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), testOptions(dir))
	if err == nil || !strings.Contains(err.Error(), "belongs to user id 1,") {
		t.Errorf("got %v", err)
	}
}

func TestAClusterOfAnotherVersionIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	dir := serverFolder(t)
	mustStop(t, mustStart(t, testOptions(dir)))
	if err := os.WriteFile(filepath.Join(dir, dataName, "PG_VERSION"), []byte("14\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), testOptions(dir))
	var other *VersionError
	if !errors.As(err, &other) || other.Cluster != 14 || other.Found < oldestMajor {
		t.Fatalf("got %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "install PostgreSQL 14, or bring the folder to") || strings.Contains(text, "\n") {
		t.Errorf("says %q", text)
	}
	if text := mustRead(t, filepath.Join(dir, dataName, "PG_VERSION")); text != "14\n" {
		t.Errorf("the cluster was changed: %q", text)
	}
}

func TestRootMustNameAnotherUser(t *testing.T) {
	t.Parallel()
	requireRoot(t)
	for _, runAs := range []string{"", "root"} {
		dir := filepath.Join(t.TempDir(), "server")
		if _, err := Start(t.Context(), Options{Dir: dir, RunAs: runAs}); !errors.Is(err, ErrRoot) {
			t.Errorf("run as %q: %v, want ErrRoot", runAs, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("run as %q: the folder was touched (%v)", runAs, err)
		}
	}
}

func TestOnlyRootCanNameAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: needs a user other than root")
	}
	_, err := Start(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "server"), RunAs: "daemon"})
	if err == nil || !strings.Contains(err.Error(), "only root") {
		t.Errorf("got %v", err)
	}
}

func TestAnUnknownUserIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "server"), RunAs: "no-such-user"})
	if err == nil || !strings.Contains(err.Error(), `user "no-such-user"`) {
		t.Errorf("got %v", err)
	}
}

// stranger is a user who is neither root nor the server's: daemon on Debian, bin
// on RHEL.
const stranger = 1

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root, to be another user")
	}
}

func TestNobodyElseCanConnect(t *testing.T) {
	t.Parallel()
	s := mustStart(t, testOptions(serverFolder(t)))
	info, err := os.Lstat(s.socket)
	if err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Fatalf("the socket's folder: %v (%v), want drwx------", info.Mode(), err)
	}
	requireRoot(t)
	psql := filepath.Join(filepath.Dir(s.process.cmd.Path), "psql")
	asStranger := func() string {
		cmd := exec.Command(psql, "-X", "-w", "-h", s.socket, "-U", Owner, "-c", "SELECT 1", Database)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("another user connected: %s", out)
		}
		return fmt.Sprintf("%s (%v)", out, err)
	}
	if out := asStranger(); !strings.Contains(out, "Permission denied") {
		t.Errorf("not the folder refused: %s", out)
	}
	// Even where the modes were loosened by mistake.
	for path, mode := range map[string]os.FileMode{s.socket: 0o755, filepath.Join(s.socket, socketFile): 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if out := asStranger(); !strings.Contains(out, `Peer authentication failed for user "corewait"`) {
		t.Errorf("not the server refused: %s", out)
	}
}

func TestOtherRolesLogInOnlyWhereAnyRoleMay(t *testing.T) {
	t.Parallel()
	o := testOptions(serverFolder(t))
	s := mustStart(t, o)
	query(t, s.URL(), "CREATE ROLE reader LOGIN")
	asReader := strings.Replace(s.URL(), Owner+"@", "reader@", 1)
	conn, err := pgx.Connect(t.Context(), asReader)
	if err == nil {
		_ = conn.Close(t.Context())
		t.Error("another role logged in")
	}
	mustStop(t, s)
	o.AnyRole = true
	mustStart(t, o)
	if got := query(t, asReader, "SELECT current_user"); got != "reader" {
		t.Errorf("logged in as %q, want reader", got)
	}
}

func TestSettingsThatDecideAboutSafetyCannotBeChosen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"listen_addresses", "LISTEN_ADDRESSES", "unix_socket_directories", "unix_socket_permissions", "hba_file", "ident_file",
		"port", "fsync", "data_directory", "config_file", "work_mem=1 -c fsync", "", "1",
	} {
		f := &folder{dir: "/srv/corewait"}
		if args, err := f.serverArgs(Options{Settings: map[string]string{name: "x"}}, "/run"); err == nil {
			t.Errorf("%q was taken: %v", name, args)
		}
	}
}

func TestAServerThatDoesNotStartSaysWhyInOneLine(t *testing.T) {
	t.Parallel()
	parent := parentFolder(t)
	o := testOptions(filepath.Join(parent, "server"))
	o.Settings = map[string]string{"shared_buffers": "many"}
	_, err := Start(t.Context(), o)
	if err == nil {
		t.Fatal("started")
	}
	if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, `invalid value for parameter "shared_buffers": "many"`) {
		t.Errorf("says %q", text)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v (%v)", left, err)
	}
}
