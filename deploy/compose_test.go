// Package deploy_test holds what ships beside the binaries to its word.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// project loads docker-compose.yml as docker compose does: schema, references
// between services, variables.
func project(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{"../docker-compose.yml"},
		cli.WithProfiles(profiles), cli.WithResolvedPaths(true),
		cli.WithEnv([]string{"COREWAIT_DB_PASSWORD=a", "COREWAIT_GRAFANA_PASSWORD=b", "GRAFANA_ADMIN_PASSWORD=c"}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatalf("docker-compose.yml: %v", err)
	}
	return p
}

func TestTheCompositionHasItsServicesAndOracleUnderAProfile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ profiles, want []string }{
		{nil, []string{"corewait", "db", "grafana"}},
		{[]string{"oracle"}, []string{"corewait", "db", "grafana", "oracle"}},
	} {
		names := project(t, tt.profiles...).ServiceNames()
		slices.Sort(names)
		if !slices.Equal(names, tt.want) {
			t.Errorf("profiles %v: got %v, want %v", tt.profiles, names, tt.want)
		}
	}
}

func TestNothingIsReachableFromOutsideAndNoVariableHoldsAPassword(t *testing.T) {
	t.Parallel()
	for _, s := range project(t, "oracle").Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %d is published on %q", s.Name, port.Target, port.HostIP)
			}
		}
		for name, value := range s.Environment {
			if secret := strings.Contains(name, "PASSWORD") && !strings.HasSuffix(name, "_FILE"); secret && name != "ORACLE_RANDOM_PASSWORD" {
				t.Errorf("%s: %s is a variable: give it as a file", s.Name, name)
			}
			if value != nil && strings.Contains(*value, ":a@") {
				t.Errorf("%s: %s holds a password", s.Name, name)
			}
		}
	}
}

func TestFilesThatTheCompositionMountsExist(t *testing.T) {
	t.Parallel()
	mounted := 0
	for _, s := range project(t, "oracle").Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			mounted++
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
		for _, secret := range s.Secrets {
			if _, ok := project(t).Secrets[secret.Source]; !ok {
				t.Errorf("%s: no secret %s", s.Name, secret.Source)
			}
		}
	}
	if mounted < 2 {
		t.Errorf("%d files are mounted, want the logins and the data source", mounted)
	}
}

func TestTheLoginsScriptIsShell(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("sh", "-n", filepath.Join("postgres", "logins.sh")).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
