package files

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nodesOf gives each source's nodes, joined; "-" where it cannot be placed.
func nodesOf(dir string, s *Set) map[string]string {
	nodes := map[string]string{}
	for _, src := range s.Sources() {
		name := below(dir, src.Name)
		nodes[name] = strings.Join(src.Nodes, "+")
		if len(src.Nodes) == 0 {
			nodes[name] = "-"
		}
	}
	return nodes
}

// Expected nodes follow from the rules beside Node, case by case, by reading.
func TestNodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string // file to the fields of its toy line
		want  map[string]string
		warns int
	}{
		{
			name:  "files that name no host are of one node without a name",
			files: map[string]string{"irq": "kind=interrupts", "ash": "kind=ash", "sub/vm": "kind=vmstat"},
			want:  map[string]string{"irq": "", "ash": "", "sub/vm": ""},
		},
		{
			name:  "a file without host belongs to the host named beside it",
			files: map[string]string{"irq": "kind=interrupts", "pid": "kind=pidstat host=db1", "ash": "kind=ash", "sub/vm": "kind=vmstat"},
			want:  map[string]string{"irq": "db1", "pid": "db1", "ash": "db1", "sub/vm": "db1"},
		},
		{
			name:  "hosts are compared by short name whatever the case",
			files: map[string]string{"a": "kind=pidstat host=db1.example.com", "b": "kind=vmstat host=DB1", "c": "kind=interrupts"},
			want:  map[string]string{"a": "db1", "b": "db1", "c": "db1"},
		},
		{
			name:  "an address is no name with a domain",
			files: map[string]string{"a": "kind=pidstat host=10.0.0.1", "b": "kind=vmstat host=10.0.0.2"},
			want:  map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"},
		},
		{
			name:  "localhost names no host",
			files: map[string]string{"db1/a": "kind=pidstat host=localhost.localdomain", "db2/a": "kind=pidstat host=localhost"},
			want:  map[string]string{"db1/a": "db1", "db2/a": "db2"},
		},
		{
			name: "subfolders of two hosts keep their files apart",
			files: map[string]string{
				"x/pid": "kind=pidstat host=db1", "x/irq": "kind=interrupts", "x/cpu": "kind=lscpu",
				"y/pid": "kind=pidstat host=db2", "y/irq": "kind=interrupts", "y/cpu": "kind=lscpu",
			},
			want: map[string]string{"x/pid": "db1", "x/irq": "db1", "x/cpu": "db1", "y/pid": "db2", "y/irq": "db2", "y/cpu": "db2"},
		},
		{
			name: "files of Oracle above the folders of nodes belong to all of them",
			files: map[string]string{
				"ash": "kind=ash", "oracle/sysstat": "kind=sysstat",
				"db1/pid": "kind=pidstat host=db1", "db2/pid": "kind=pidstat host=db2", "db2/ash": "kind=ash",
			},
			want: map[string]string{"ash": "db1+db2", "oracle/sysstat": "db1+db2", "db1/pid": "db1", "db2/pid": "db2", "db2/ash": "db2"},
		},
		{
			name:  "a host's file beside several hosts cannot be placed",
			files: map[string]string{"a": "kind=pidstat host=db1", "b": "kind=pidstat host=db2", "irq": "kind=interrupts", "ash": "kind=ash"},
			want:  map[string]string{"a": "db1", "b": "db2", "irq": "-", "ash": "db1+db2"},
			warns: 1,
		},
		{
			name:  "subfolders that hold the same kinds and name no host are nodes",
			files: map[string]string{"db1/irq": "kind=interrupts", "db1/vm": "kind=vmstat", "db2/irq": "kind=interrupts", "ash": "kind=ash"},
			want:  map[string]string{"db1/irq": "db1", "db1/vm": "db1", "db2/irq": "db2", "ash": "db1+db2"},
		},
		{
			name:  "subfolders of one kind each are one node",
			files: map[string]string{"oswvmstat/a": "kind=vmstat", "oswps/a": "kind=pidstat", "irq/a": "kind=interrupts"},
			want:  map[string]string{"oswvmstat/a": "", "oswps/a": "", "irq/a": ""},
		},
		{
			name:  "subfolders that share only kinds of Oracle are one node",
			files: map[string]string{"a/ash": "kind=ash", "b/ash": "kind=ash", "irq": "kind=interrupts"},
			want:  map[string]string{"a/ash": "", "b/ash": "", "irq": ""},
		},
		{
			name:  "subfolders of days are no nodes",
			files: map[string]string{"2026-09-10/irq": "kind=interrupts", "2026-09-11/irq": "kind=interrupts"},
			want:  map[string]string{"2026-09-10/irq": "", "2026-09-11/irq": ""},
		},
		{
			name: "days within nodes and nodes within days come to the same",
			files: map[string]string{
				"2026-09-10/db1/irq": "kind=interrupts", "2026-09-10/db2/irq": "kind=interrupts",
				"2026-09-11/db1/irq": "kind=interrupts", "2026-09-11/db2/irq": "kind=interrupts",
			},
			want: map[string]string{
				"2026-09-10/db1/irq": "db1", "2026-09-10/db2/irq": "db2", "2026-09-11/db1/irq": "db1", "2026-09-11/db2/irq": "db2",
			},
		},
		{
			name: "nodes are found below other folders",
			files: map[string]string{
				"db1/2026-09-10/irq": "kind=interrupts", "db1/2026-09-11/irq": "kind=interrupts", "db2/2026-09-10/irq": "kind=interrupts",
			},
			want: map[string]string{"db1/2026-09-10/irq": "db1", "db1/2026-09-11/irq": "db1", "db2/2026-09-10/irq": "db2"},
		},
		{
			name:  "a subfolder without names is a node beside one that has them",
			files: map[string]string{"one/pid": "kind=pidstat host=rac1", "one/irq": "kind=interrupts", "rac2/irq": "kind=interrupts"},
			want:  map[string]string{"one/pid": "rac1", "one/irq": "rac1", "rac2/irq": "rac2"},
			warns: 1,
		},
		{
			name:  "V$INSTANCE names the host where no file of the host does",
			files: map[string]string{"irq": "kind=interrupts", "ash": "kind=ash", "instance": "kind=instance host=db1.example.com instance=ORDP1"},
			want:  map[string]string{"irq": "db1", "ash": "db1", "instance": "db1"},
		},
		{
			name:  "V$INSTANCE of another host does not part the files",
			files: map[string]string{"pid": "kind=pidstat host=db1", "irq": "kind=interrupts", "ash": "kind=ash", "instance": "kind=instance host=db2"},
			want:  map[string]string{"pid": "db1", "irq": "db1", "ash": "db1", "instance": "db1"},
		},
		{
			name:  "V$INSTANCE names the node of its subfolder",
			files: map[string]string{"a/irq": "kind=interrupts", "a/inst": "kind=instance host=db1", "b/irq": "kind=interrupts", "b/inst": "kind=instance host=db2"},
			want:  map[string]string{"a/irq": "db1", "a/inst": "db1", "b/irq": "db2", "b/inst": "db2"},
		},
		{
			name:  "a file of Oracle that names its host belongs to that host",
			files: map[string]string{"pid": "kind=pidstat host=db1", "ash": "kind=ash host=db2"},
			want:  map[string]string{"pid": "db1", "ash": "db2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content, n := map[string]string{}, 0
			for name, fields := range tt.files {
				n++
				content[name] = toy(fields, n)
			}
			dir := tree(t, content)
			s := scanTree(t, dir, Limits{})
			if diff := cmp.Diff(tt.want, nodesOf(dir, s)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if len(s.Warnings()) != tt.warns {
				t.Errorf("warnings %q, want %d", s.Warnings(), tt.warns)
			}
		})
	}
}

func TestArchivesNameNodes(t *testing.T) {
	t.Parallel()
	irq := func(n int) string { return toy("kind=interrupts", n) }
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  map[string]string
	}{
		{
			"archives side by side", map[string]string{
				"db1.tar.gz": gzipped(t, tarred(t, entry{"irq", irq(1)})), "db2.zip": zipped(t, entry{"irq", irq(2)}),
			}, map[string]string{"db1.tar.gz!irq": "db1", "db2.zip!irq": "db2"},
		},
		{
			"the folder within tells better than the archive", map[string]string{
				"a.tar": tarred(t, entry{"db1/irq", irq(1)}), "b.tar": tarred(t, entry{"db2/irq", irq(2)}),
			}, map[string]string{"a.tar!db1/irq": "db1", "b.tar!db2/irq": "db2"},
		},
		{
			"unless it is the same in both", map[string]string{
				"db1.tar": tarred(t, entry{"logs/irq", irq(1)}), "db2.tar": tarred(t, entry{"logs/irq", irq(2)}),
			}, map[string]string{"db1.tar!logs/irq": "db1", "db2.tar!logs/irq": "db2"},
		},
		{
			"subfolders of one archive", map[string]string{
				"all.tar": tarred(t, entry{"db1/irq", irq(1)}, entry{"db2/irq", irq(2)}),
			}, map[string]string{"all.tar!db1/irq": "db1", "all.tar!db2/irq": "db2"},
		},
		{
			"an archive as the collecting script names it", map[string]string{
				"corewait-rac-db1-20260910T001500Z.tar.gz": gzipped(t, tarred(t, entry{"rac-db1/irq", irq(1)})),
			}, map[string]string{"corewait-rac-db1-20260910T001500Z.tar.gz!rac-db1/irq": "rac-db1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, tt.files)
			if diff := cmp.Diff(tt.want, nodesOf(dir, scanTree(t, dir, Limits{}))); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodesTellKindsAndInstances(t *testing.T) {
	t.Parallel()
	s := scanTree(t, tree(t, map[string]string{
		"pid": toy("kind=pidstat host=db1", 1), "ash": toy("kind=ash instance=ORDP1", 1), "ash2": toy("kind=ash instance=ORDP1", 2),
	}), Limits{})
	want := []Node{{Name: "db1", Kinds: []Kind{KindASH, KindPidstat}, Instances: []string{"ORDP1"}}}
	if diff := cmp.Diff(want, s.Nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	two := map[string]string{"a": toy("kind=pidstat host=db1", 1), "b": toy("kind=pidstat host=db2", 1), "irq": toy("kind=interrupts", 1)}
	for _, tt := range []struct {
		name, node string
		files      map[string]string
		want       map[string]string
		err        string
	}{
		{"files that cannot be placed are the chosen node's", "DB2.example.com", two, map[string]string{"a": "db1", "b": "db2", "irq": "db2"}, ""},
		{"a node that no file names is refused", "db3", two, nil, `no node "db3": the files name db1, db2`},
		{"a node without a name takes the one chosen", "db3", map[string]string{"irq": toy("kind=interrupts", 1)}, map[string]string{"irq": "db3"}, ""},
		{"a set without sources has none", "db3", map[string]string{"x": ""}, nil, `no node "db3": the files name none`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, tt.files)
			s := scanTree(t, dir, Limits{})
			node, err := s.Choose(tt.node)
			if fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
				t.Fatalf("got error %v, want %q", err, tt.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, nodesOf(dir, s)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if want := hostKey(tt.node); node.Name != want {
				t.Errorf("got node %q, want %q", node.Name, want)
			}
		})
	}
}
