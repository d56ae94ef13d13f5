package files

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
)

// Node is one host of the database, with the files that belong to it.
type Node struct {
	Name      string   // "" where nothing names it
	Kinds     []Kind   // of its files, ascending
	Instances []string // that its files name, ascending
}

// A node is the host that a banner, an archive or a subfolder names:
//
//   - a file whose content names a host belongs to that host;
//   - subfolders (or archives) side by side that hold the same kinds of host
//     files are nodes of their own; where nothing in one names its host, the
//     subfolder does;
//   - a file that names none belongs to the host named in the nearest folder
//     around it;
//   - where that folder names several, a file of Oracle belongs to each of
//     them, since instances of RAC may share it and its rows carry INST_ID; a
//     file of a host cannot be placed;
//   - where no folder names any, all files are of one node without a name.

// folder is a folder or archive in the tree of those that hold sources.
type folder struct {
	name   string
	parent *folder
	below  map[string]*folder
	kinds  map[Kind]bool // of host files, subfolders included
	// Names of hosts by their key, subfolders included: told by files of the
	// host, and told by files of Oracle only.
	hosts, oracleHosts map[string]string
}

func newFolder(name string, parent *folder) *folder {
	return &folder{
		name: name, parent: parent, below: map[string]*folder{}, kinds: map[Kind]bool{},
		hosts: map[string]string{}, oracleHosts: map[string]string{},
	}
}

// at gives the folder of that place, made where it is not there yet.
func (f *folder) at(place []string) *folder {
	for _, name := range place {
		next := f.below[name]
		if next == nil {
			next = newFolder(name, f)
			f.below[name] = next
		}
		f = next
	}
	return f
}

// named tells a host to a folder and all those around it. The first spelling
// is kept.
func (f *folder) named(host string, oracle bool) {
	for ; f != nil; f = f.parent {
		hosts := f.hosts
		if oracle {
			hosts = f.oracleHosts
		}
		if _, ok := hosts[hostKey(host)]; !ok {
			hosts[hostKey(host)] = shortHost(host)
		}
	}
}

// place decides which nodes each source belongs to.
func (s *Set) place() {
	root := newFolder("", nil)
	homes := make(map[*source]*folder, len(s.sources))
	for _, src := range s.sources {
		f := root.at(src.place)
		homes[src] = f
		if host := shortHost(src.Host); host != "" {
			f.named(host, src.ofOracle())
		}
		if src.ofOracle() {
			continue
		}
		for ; f != nil; f = f.parent {
			f.kinds[src.Kind] = true
		}
	}
	s.warnings = append(s.warnings, root.nameByFolders()...)
	var unplaced []string
	for _, src := range s.sources {
		src.Nodes = src.nodesFrom(homes[src])
		if len(src.Nodes) == 0 {
			unplaced = append(unplaced, src.Name)
		}
	}
	if len(unplaced) > 0 {
		s.warnings = append(s.warnings, fmt.Sprintf("%s: left out: several hosts are named around it and none in it; choose one with --node",
			fewNames(unplaced)))
	}
	s.gatherNodes()
}

func (s *source) ofOracle() bool { return s.format.clock == clockDB }

// nodesFrom gives the nodes of a source that lies in home.
func (s *source) nodesFrom(home *folder) []string {
	// V$INSTANCE maps instances to hosts, of which it may list several: it is
	// wanted by every node near it.
	if host := shortHost(s.Host); host != "" && s.Kind != KindInstance {
		return []string{root(home).spelling(host)}
	}
	for f := home; f != nil; f = f.parent {
		hosts := f.hosts
		if len(hosts) == 0 {
			hosts = f.oracleHosts
		}
		switch {
		case len(hosts) == 0:
			continue
		case len(hosts) == 1 || s.ofOracle():
			return slices.Sorted(maps.Values(hosts))
		default:
			return nil
		}
	}
	return []string{""}
}

func root(f *folder) *folder {
	for f.parent != nil {
		f = f.parent
	}
	return f
}

// spelling gives the one spelling under which a host is shown.
func (f *folder) spelling(host string) string {
	key := hostKey(host)
	return cmp.Or(f.hosts[key], f.oracleHosts[key], host)
}

// nameByFolders gives hosts to subfolders that are nodes of their own and name
// none, innermost first. It warns where that parts them from hosts named beside
// them.
func (f *folder) nameByFolders() []string {
	var warnings []string
	children := make([]*folder, 0, len(f.below))
	for _, name := range slices.Sorted(maps.Keys(f.below)) {
		children = append(children, f.below[name])
		warnings = append(warnings, f.below[name].nameByFolders()...)
	}
	if host := collectedHost(f.name); host != "" && len(f.hosts) == 0 {
		f.named(host, false)
	}
	var bare []*folder
	besides := len(f.hosts) > 0
	for _, c := range ownNodes(children) {
		if len(c.hosts) == 0 {
			bare = append(bare, c)
		}
	}
	for i, name := range folderHosts(bare) {
		if besides {
			warnings = append(warnings, fmt.Sprintf("%s: no file in it names its host: taken as a node of that name, apart from the hosts beside it", name))
		}
		bare[i].named(name, false)
	}
	return warnings
}

// ownNodes gives those of the folders side by side that are nodes of their
// own: they share a kind of host file with another. Folders that each hold one
// kind (a folder of vmstat, a folder of iostat) are not, nor are folders of days.
func ownNodes(children []*folder) []*folder {
	having := map[Kind]int{}
	for _, c := range children {
		for k := range c.kinds {
			having[k]++
		}
	}
	var own []*folder
	for _, c := range children {
		if !namesHost(c.name) {
			continue
		}
		for k := range c.kinds {
			if having[k] > 1 {
				own = append(own, c)
				break
			}
		}
	}
	return own
}

// folderHosts gives each folder the name of its node: the one host that files
// of Oracle in it name; else its innermost name that tells it from the others
// (db1.tar.gz holding db1/ alone is db1), else its own.
func folderHosts(own []*folder) []string {
	names := make([]string, len(own))
	count := map[string]int{}
	for i, f := range own {
		names[i] = f.innermost()
		count[hostKey(names[i])]++
	}
	for i, f := range own {
		if count[hostKey(names[i])] > 1 || !namesHost(names[i]) {
			names[i] = plainName(f.name)
		}
		if len(f.oracleHosts) == 1 {
			for _, host := range f.oracleHosts {
				names[i] = host
			}
		}
	}
	return names
}

// innermost gives the name of the innermost folder that still holds all that
// f holds.
func (f *folder) innermost() string {
	for len(f.below) == 1 {
		var only *folder
		for _, only = range f.below {
		}
		if len(only.kinds) != len(f.kinds) || !namesHost(only.name) {
			break
		}
		f = only
	}
	return plainName(f.name)
}

// collected matches the archive that `corewait collect script` makes.
var collected = regexp.MustCompile(`^corewait-(.+)-[0-9]{8}T?[0-9]{6}Z?$`)

// collectedHost gives the host that the name of a collected archive says.
func collectedHost(name string) string {
	m := collected.FindStringSubmatch(plainName(name))
	if m == nil {
		return ""
	}
	return shortHost(m[1])
}

// plainName strips the mark and the endings of an archive from a folder's name.
func plainName(name string) string {
	name, archive := strings.CutSuffix(name, archiveMark)
	for archive {
		lower := strings.ToLower(name)
		archive = false
		for _, end := range []string{".gz", ".zst", ".bz2", ".xz", ".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".zip"} {
			if strings.HasSuffix(lower, end) && len(name) > len(end) {
				name, archive = name[:len(name)-len(end)], true
				break
			}
		}
	}
	return name
}

// namesHost says whether a folder's name can be that of a host: it is more
// than a day or a time.
func namesHost(name string) bool {
	return strings.Trim(plainName(name), "0123456789-_.:+TZtz ") != ""
}

// shortHost gives a host's name without its domain; "" for none and for
// localhost, which every host calls itself.
func shortHost(host string) string {
	host = strings.TrimSpace(host)
	if net.ParseIP(host) == nil {
		host, _, _ = strings.Cut(host, ".")
	}
	if strings.EqualFold(host, "localhost") {
		return ""
	}
	return host
}

// hostKey is what host names are compared by.
func hostKey(host string) string { return strings.ToLower(shortHost(host)) }

// gatherNodes makes the list of nodes from what the sources belong to.
func (s *Set) gatherNodes() {
	kinds, instances := map[string]map[Kind]bool{}, map[string]map[string]bool{}
	for _, src := range s.sources {
		for _, node := range src.Nodes {
			if kinds[node] == nil {
				kinds[node], instances[node] = map[Kind]bool{}, map[string]bool{}
			}
			kinds[node][src.Kind] = true
			if src.Instance != "" {
				instances[node][src.Instance] = true
			}
		}
	}
	s.nodes = s.nodes[:0:0]
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		s.nodes = append(s.nodes, Node{
			Name: name, Kinds: slices.Sorted(maps.Keys(kinds[name])), Instances: slices.Sorted(maps.Keys(instances[name])),
		})
	}
}

// Choose takes the user's word for the node: files that cannot be placed are
// taken as that node's, and a set whose files name no host takes the name. It
// gives the node, and fails where the files name others only.
func (s *Set) Choose(node string) (Node, error) {
	name, ok := s.find(node)
	switch {
	case !ok && len(s.nodes) == 1 && s.nodes[0].Name == "":
		name = node
	case !ok:
		names := make([]string, 0, len(s.nodes))
		for _, n := range s.nodes {
			names = append(names, n.Name)
		}
		return Node{}, fmt.Errorf("no node %q: the files name %s", node, fewNames(names))
	}
	for _, src := range s.sources {
		if len(src.Nodes) == 0 || len(src.Nodes) == 1 && src.Nodes[0] == "" {
			src.Nodes = []string{name}
		}
	}
	s.gatherNodes()
	i := slices.IndexFunc(s.nodes, func(n Node) bool { return n.Name == name })
	return s.nodes[i], nil
}

// find gives a node's name as the files spell it.
func (s *Set) find(node string) (string, bool) {
	for _, n := range s.nodes {
		if n.Name == node || n.Name != "" && hostKey(n.Name) == hostKey(node) {
			return n.Name, true
		}
	}
	return "", false
}

// fewNames lists names for a message: the first few, and how many more.
func fewNames(names []string) string {
	const few = 5
	if len(names) == 0 {
		return "none"
	}
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
