package procfmt

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/corewait/corewait/domain"
)

// Texts below are written by hand in the tools' form; expected values are read
// from them by eye.

// layout prints CPUs as id:socket/core/node, "?" where unknown, "-" behind
// those off line.
func layout(t domain.Topology) string {
	known := func(n int) string {
		if n < 0 {
			return "?"
		}
		return strconv.Itoa(n)
	}
	words := make([]string, 0, len(t.CPUs))
	for _, c := range t.CPUs {
		word := fmt.Sprintf("%d:%s/%s/%s", c.ID, known(c.Socket), known(c.Core), known(c.Node))
		if !c.Online {
			word += "-"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestLscpu(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"plain, one thread per core, sockets are nodes": {
			"Architecture: x86_64\nCPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 1\nCore(s) per socket: 2\nSocket(s): 2\nNUMA node(s): 2\nNUMA node0 CPU(s): 0,2\nNUMA node1 CPU(s): 1,3\n",
			"0:0/0/0 1:1/1/1 2:0/2/0 3:1/3/1",
		},
		"plain, two threads per core: which share one is not said": {
			"CPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 2\nCore(s) per socket: 2\nSocket(s): 1\nNUMA node0 CPU(s): 0-3\n",
			"0:0/?/0 1:0/?/0 2:0/?/0 3:0/?/0",
		},
		"plain, a CPU off line distorts the counts": {
			"CPU(s): 4\nOn-line CPU(s) list: 0-2\nOff-line CPU(s) list: 3\nThread(s) per core: 1\nCore(s) per socket: 1\nSocket(s): 3\nNUMA node0 CPU(s): 0-2\n",
			"0:?/?/0 1:?/?/0 2:?/?/0 3:?/?/?-",
		},
		"plain, two nodes in one socket": {
			"On-line CPU(s) list: 0-3\nThread(s) per core: 1\nCore(s) per socket: 4\nSocket(s): 1\nNUMA node0 CPU(s): 0,1\nNUMA node1 CPU(s): 2,3\n",
			"0:0/0/0 1:0/1/0 2:0/2/1 3:0/3/1",
		},
		"plain, a node of memory alone": {
			"On-line CPU(s) list: 0,1\nThread(s) per core: 1\nCore(s) per socket: 2\nSocket(s): 1\nNUMA node0 CPU(s): 0,1\nNUMA node8 CPU(s):\n",
			"0:0/0/0 1:0/1/0",
		},
		"plain, indented since util-linux 2.37": {
			"CPU(s):                  2\n  On-line CPU(s) list:   0,1\n    Thread(s) per core:  1\nNUMA:                    \n  NUMA node(s):          1\n  NUMA node0 CPU(s):     0,1\n",
			"0:?/?/0 1:?/?/0",
		},
		"translated, the NUMA lines are still read": {
			"아키텍처: x86_64\nCPU(들): 2\nNUMA 노드(들): 1\nNUMA 노드0 CPU: 0,1\n",
			"0:?/?/0 1:?/?/0",
		},
		"-p": {
			"# The following is the parsable format\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,1,1,,1,1,1,1\n2,0,0,0,,0,0,0,0\n3,1,1,1,,1,1,1,1\n",
			"0:0/0/0 1:1/1/1 2:0/0/0 3:1/1/1",
		},
		"-p, columns chosen": {"# CPU,Socket\n0,0\n1,1\n", "0:0/?/? 1:1/?/?"},
		"-p, no NUMA":        {"# CPU,Core,Socket,Node\n0,0,0,\n1,1,0,\n", "0:0/0/? 1:0/1/?"},
		"-e": {
			"CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ MINMHZ\n  0    0      0    0 0:0:0:0          yes 3000 800\n  1    0      0    0 0:0:0:0          yes 3000 800\n  2    -      -    - :::               no    -   -\n",
			"0:0/0/0 1:0/0/0 2:?/?/?-",
		},
		"-e -y, cores numbered within the socket": {
			"CPU SOCKET CORE\n0 0 0\n1 1 0\n2 0 0\n3 1 0\n",
			"0:0/0/? 1:1/1/? 2:0/0/? 3:1/1/?",
		},
		"-J": {
			`{"lscpu":[{"field":"CPU(s):","data":"2","children":[{"field":"On-line CPU(s) list:","data":"0,1"}]},{"field":"NUMA:","data":null,"children":[{"field":"NUMA node0 CPU(s):","data":"0,1"}]}]}`,
			"0:?/?/0 1:?/?/0",
		},
		"-J -e":              {`{"cpus":[{"cpu":0,"node":0,"socket":0,"core":0,"online":true},{"cpu":1,"node":null,"socket":null,"core":null,"online":false}]}`, "0:0/0/0 1:?/?/?-"},
		"-J -e, as strings":  {`{"cpus":[{"cpu":"0","node":"0","socket":"1","core":"2","online":"yes"}]}`, "0:1/2/0"},
		"-J -e, no node yet": {`{"cpus":[{"cpu":0,"socket":0,"core":0}]}`, "0:0/0/?"},
	} {
		got, err := ParseLscpu([]byte(tt.text))
		if err != nil || layout(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", name, layout(got), err, tt.want)
		}
	}
}

func TestLscpuThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":                    "",
		"another text":               "Architecture: x86_64\nCPU op-mode(s) = 32-bit\n",
		"a list that is none":        "On-line CPU(s) list: 0-x\n",
		"masks (-x)":                 "On-line CPU(s) mask: 0x3\nNUMA node0 CPU(s): 0x3\n",
		"a range backwards":          "On-line CPU(s) list: 3-0\n",
		"a range without bound":      "On-line CPU(s) list: 0-99999999\n",
		"a CPU in two nodes":         "NUMA node0 CPU(s): 0,1\nNUMA node1 CPU(s): 1\n",
		"a CPU in two nodes, listed": "On-line CPU(s) list: 0,1\nNUMA node0 CPU(s): 0,1\nNUMA node1 CPU(s): 1\n",
		"a CPU twice (-p)":           "# CPU,Core\n0,0\n0,1\n",
		"a row that is cut (-p)":     "# CPU,Core,Socket\n0,0,0\n1,1\n",
		"a row of words (-e)":        "CPU NODE SOCKET\nx y z\n",
		"headings alone (-e)":        "CPU NODE SOCKET\n",
		"online neither yes nor":     "CPU ONLINE\n0 maybe\n",
		"JSON that is cut":           `{"lscpu":[{"field":"CPU(s):"`,
		"JSON of another program":    `{"cpu":1}`,
	} {
		if got, err := ParseLscpu([]byte(text)); err == nil {
			t.Errorf("%s: read as %s", name, layout(got))
		}
	}
}

func TestNumactl(t *testing.T) {
	t.Parallel()
	const text = "available: 3 nodes (0-1,8)\nnode 0 cpus: 0 2 4\nnode 0 size: 65442 MB\nnode 0 free: 512 MB\nnode 1 cpus: 1 3 5\nnode 8 cpus:\nnode 8 size: 1024 MB\nnode distances:\nnode   0   1\n  0:  10  21\n"
	got, err := ParseNumactl([]byte(text))
	if want := "0:?/?/0 1:?/?/1 2:?/?/0 3:?/?/1 4:?/?/0 5:?/?/1"; err != nil || layout(got) != want {
		t.Errorf("%s, %v; want %s", layout(got), err, want)
	}
	for name, text := range map[string]string{
		"no hardware":    "No NUMA available on this system\n",
		"a word":         "node 0 cpus: 0 x\n",
		"a CPU twice":    "node 0 cpus: 0 1\nnode 1 cpus: 1\n",
		"memory alone":   "node 0 cpus:\n",
		"no CPU so high": "node 0 cpus: 8192\n",
	} {
		if got, err := ParseNumactl([]byte(text)); err == nil {
			t.Errorf("%s: read as %s", name, layout(got))
		}
	}
}

func TestCPULists(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"":           "[]",
		"0":          "[0]",
		"0-3,8":      "[0 1 2 3 8]",
		"0,2, 4":     "[0 2 4]",
		"24-25,56\n": "[24 25 56]",
	} {
		got, err := ParseCPUList(list)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v, %v; want %s", list, got, err, want)
		}
	}
	for _, list := range []string{"x", "1-", "-1", "1,,2", "5-2", "0-8192", "0-8191,0-8191", "+1"} {
		if got, err := ParseCPUList(list); err == nil {
			t.Errorf("%q: read as %d CPUs", list, len(got))
		}
	}
}

func TestBonds(t *testing.T) {
	t.Parallel()
	const heading = "Ethernet Channel Bonding Driver: v5.14.0\n\n"
	for name, tt := range map[string]struct{ text, want string }{
		"active-backup": {
			heading + "Bonding Mode: fault-tolerance (active-backup)\nPrimary Slave: None\nCurrently Active Slave: ens1f0\nMII Status: up\n\nSlave Interface: ens1f0\nLink Failure Count: 2\n\nSlave Interface: ens2f0\n",
			"bond0 fault-tolerance (active-backup) ens1f0 [ens1f0 ens2f0]",
		},
		"no slave is active": {
			heading + "Bonding Mode: fault-tolerance (active-backup)\nCurrently Active Slave: None\nSlave Interface: ens1f0\n",
			"bond0 fault-tolerance (active-backup)  [ens1f0]",
		},
		"no slaves yet": {heading + "Bonding Mode: load balancing (xor)\n", "bond0 load balancing (xor)  []"},
	} {
		got, err := ParseBond("bond0", []byte(tt.text))
		if s := fmt.Sprintf("%s %s %s %v", got.Name, got.Mode, got.ActiveSlave, got.Slaves); err != nil || s != tt.want {
			t.Errorf("%s: %s, %v; want %s", name, s, err, tt.want)
		}
	}
	for name, text := range map[string]string{
		"nothing":                   "",
		"no heading":                "Bonding Mode: load balancing (xor)\nSlave Interface: eth1\n",
		"no mode":                   heading + "Slave Interface: eth1\n",
		"an empty mode":             heading + "Bonding Mode:\nSlave Interface: eth1\n",
		"two modes":                 heading + "Bonding Mode: a\nBonding Mode: b\n",
		"a slave twice":             heading + "Bonding Mode: a\nSlave Interface: eth1\nSlave Interface: eth1\n",
		"a slave's name too long":   heading + "Bonding Mode: a\nSlave Interface: abcdefghijklmnop\n",
		"cut before the slaves":     heading + "Bonding Mode: a\nCurrently Active Slave: eth1\n",
		"a slave's name is missing": heading + "Bonding Mode: a\nSlave Interface:\n",
	} {
		if got, err := ParseBond("bond0", []byte(text)); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func FuzzCPUList(f *testing.F) {
	for _, list := range []string{"", "0-7,16-23", " 0,2, 4\n", "8191", "3-1", "0-8191,0-8191"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		ids, err := ParseCPUList(list)
		// "0-8191," names the most CPUs in the fewest bytes.
		if err != nil && ids != nil || len(ids) > maxCPUs*(1+strings.Count(list, ",")) {
			t.Fatalf("%d CPUs, error %v", len(ids), err)
		}
		for _, id := range ids {
			if id < 0 || id >= maxCPUs {
				t.Fatalf("CPU %d", id)
			}
		}
	})
}

func FuzzBonding(f *testing.F) {
	f.Add([]byte("Ethernet Channel Bonding Driver: v5\n\nBonding Mode: x\nCurrently Active Slave: a\nSlave Interface: a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		bond, err := ParseBond("bond0", data)
		if err == nil && (bond.Mode == "" || bond.Name != "bond0") {
			t.Fatalf("%+v without error", bond)
		}
	})
}

func FuzzLscpu(f *testing.F) {
	f.Add([]byte("CPU(s): 2\nOn-line CPU(s) list: 0,1\nThread(s) per core: 1\nCore(s) per socket: 1\nSocket(s): 2\nNUMA node0 CPU(s): 0,1\n"))
	f.Add([]byte("# CPU,Core,Socket,Node\n0,0,0,0\n1,0,0,0\n"))
	f.Add([]byte("CPU NODE SOCKET CORE ONLINE\n  0    0      0    0    yes\n"))
	f.Add([]byte(`{"lscpu":[{"field":"CPU(s):","data":"2","children":[{"field":"On-line CPU(s) list:","data":"0,1"}]}]}`))
	f.Add([]byte(`{"cpus":[{"cpu":0,"node":0,"socket":0,"core":0,"online":true}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		topology, err := ParseLscpu(data)
		if err != nil {
			return
		}
		last := -1
		for _, c := range topology.CPUs {
			if c.ID <= last || c.Socket < -1 || c.Core < -1 || c.Node < -1 {
				t.Fatalf("%s", layout(topology))
			}
			last = c.ID
		}
	})
}

func FuzzNumactl(f *testing.F) {
	f.Add([]byte("available: 1 nodes (0)\nnode 0 cpus: 0 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		topology, err := ParseNumactl(data)
		if err == nil && len(topology.CPUs) == 0 {
			t.Fatal("no CPU and no error")
		}
	})
}
