package series

import (
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// The kernel keeps 15 bytes of a command: "ora_lgwr_" leaves 6 for the SID.
func TestInstanceNamesThatCommandsCutAreCompleted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		commands []string
		instance string // that V$INSTANCE names
		asked    string
		want     string
		warns    bool
	}{
		"a short name is whole":                         {[]string{"ora_lgwr_ORDP1"}, "", "", "ORDP1", false},
		"a name of six bytes may be cut":                {[]string{"ora_lgwr_ORDPRO"}, "", "", "ORDPRO", true},
		"the one that was asked for completes it":       {[]string{"ora_lgwr_ORDPRO"}, "", "ORDPROD1", "ORDPROD1", false},
		"V$INSTANCE completes it":                       {[]string{"ora_lgwr_ORDPRO"}, "ORDPROD1", "", "ORDPROD1", false},
		"V$INSTANCE shows that it is whole":             {[]string{"ora_lgwr_ORDPRO"}, "ORDPRO", "", "ORDPRO", false},
		"a whole command of the same process completes": {[]string{"ora_lgwr_ORDPRO", "ora_lgwr_ORDPROD1"}, "", "", "ORDPROD1", false},
		"another instance does not":                     {[]string{"ora_lgwr_ORDPRO"}, "CRMPROD1", "", "ORDPRO", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := NewBuilder(domain.WatchLGWR(), domain.Window{})
			for i, c := range tt.commands {
				p := domain.Placement{At: time.Unix(int64(1000+i), 0), TID: 7, Command: c, CPU: 3, Exec: -1, RunDelay: -1}
				if err := b.Placement(p); err != nil {
					t.Fatal(err)
				}
			}
			if tt.instance != "" {
				if err := b.Instance(domain.Instance{InstID: 1, Name: tt.instance}); err != nil {
					t.Fatal(err)
				}
			}
			got, warnings, err := b.Instances(Choice{Instance: tt.asked, InstID: AnyInstID})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].Instance != tt.want {
				t.Errorf("instances %v, want %s", got, tt.want)
			}
			if warned := strings.Contains(strings.Join(warnings, ""), "may be cut"); warned != tt.warns {
				t.Errorf("warnings %v", warnings)
			}
			if s := b.Build(got[0]); len(s.Threads) != len(tt.commands) {
				t.Errorf("%d threads, want %d", len(s.Threads), len(tt.commands))
			}
		})
	}
}
