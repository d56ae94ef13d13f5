//go:build linux

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// initCluster makes the cluster under another name and renames it when it is
// whole, so that a start that was cut off never leaves half a cluster.
func (f *folder) initCluster(ctx context.Context, b binaries, noSync bool) error {
	unfinished := f.path(newName)
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	if err := f.account.give(unfinished); err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	args := []string{
		"-D", unfinished, "-U", Owner, "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums",
		"--auth-local=peer", "--auth-host=reject", "--no-instructions",
		"--no-clean", // the error is the last that it says
	}
	if noSync {
		args = append(args, "--no-sync")
	}
	printed, err := run(ctx, func(output io.Writer) *exec.Cmd {
		return f.account.command(f.dir, filepath.Join(b.dir, "initdb"), syscall.SIGKILL, output, args...)
	})
	if err != nil {
		tail := &serverLog{tail: []byte(printed)}
		return fmt.Errorf("embedded postgres: %s: initdb: %w: %s", f.dir, err, tail.Tail())
	}
	if err := os.Rename(unfinished, f.path(dataName)); err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	return syncFolder(f.dir)
}

func syncFolder(path string) error {
	folder, err := os.Open(path) //nolint:gosec // Dir
	if err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	return nil
}

// writeAccess writes who may log in, anew at each start.
//
// The folder of the socket lets nobody in but its owner (and root). That would
// do, with trust for whoever gets there. But a mode is changed by mistake more
// easily than a server is, so the kernel is asked as well who is at the other
// end (peer), and only the caller's user may be Owner.
func (f *folder) writeAccess(anyRole bool) error {
	caller := f.account.caller
	if caller == "" || strings.HasPrefix(caller, "/") || strings.ContainsAny(caller, "\"\n\r") {
		return fmt.Errorf("embedded postgres: user name %q cannot be written to %s", caller, identName)
	}
	access := "local all " + Owner + " peer map=caller\n"
	if anyRole {
		access = "local all all trust\n"
	}
	mode := os.FileMode(0o600)
	if f.account.changed() {
		mode = 0o644 // the server reads them as another user
	}
	for name, text := range map[string]string{hbaName: access, identName: fmt.Sprintf("caller \"%s\" %s\n", caller, Owner)} {
		path := f.path(name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return fmt.Errorf("embedded postgres: %w", err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask took
			return fmt.Errorf("embedded postgres: %w", err)
		}
	}
	return nil
}

var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// small keeps the server small beside what it serves; Settings may say otherwise.
var small = map[string]string{
	"shared_buffers":  "64MB",
	"temp_file_limit": "4GB", // a query must not fill the disk
	"max_connections": "50",
}

// serverArgs is the command line of the server. What stands on it counts more
// than any file.
func (f *folder) serverArgs(o Options, socketFolder string) ([]string, error) {
	fixed := map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": `"` + socketFolder + `"`,
		"unix_socket_permissions": "0700",
		"port":                    "5432", // part of the socket's name
		"hba_file":                f.path(hbaName),
		"ident_file":              f.path(identName),
		"ssl":                     "off",
		"logging_collector":       "off", // the log is read from the pipe
		"log_destination":         "stderr",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"lc_messages":             "C", // messages are looked at
		"fsync":                   onOff(!o.NoFsync),
	}
	settings := maps.Clone(small)
	for name, value := range o.Settings {
		key := strings.ToLower(name)
		if _, ours := fixed[key]; ours || !settingName.MatchString(name) || key == "data_directory" || key == "config_file" {
			return nil, fmt.Errorf("embedded postgres: setting %q cannot be chosen", name)
		}
		settings[key] = value
	}
	maps.Copy(settings, fixed)
	args := []string{"-D", f.path(dataName)}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
