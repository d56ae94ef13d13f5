package procfmt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewait/corewait/domain"
)

// lscpuColumns finds the column names and the rows of lscpu -p ("# CPU,Core,
// Socket,Node,,L1d") and lscpu -e ("CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE").
// Names come in capitals.
func lscpuColumns(data []byte) (header []string, rows [][]string, ok bool) {
	commas := false
	for len(data) > 0 {
		var raw []byte
		raw, data = cutLine(data)
		line := strings.TrimSpace(string(raw))
		switch {
		case line == "":
		case header == nil && strings.HasPrefix(strings.ToUpper(line), "# CPU,"):
			header, commas = strings.Split(strings.ToUpper(line[2:]), ","), true
		case line[0] == '#':
		case header == nil && strings.HasPrefix(line, "CPU ") && !strings.Contains(line, "(s)"):
			header = strings.Fields(strings.ToUpper(line))
		case header == nil:
			return nil, nil, false
		case commas:
			rows = append(rows, strings.Split(line, ","))
		default:
			rows = append(rows, strings.Fields(line))
		}
		if len(rows) > maxCPUs {
			break
		}
	}
	return header, rows, header != nil
}

// lscpuTable builds a topology from a table with one row per CPU.
func lscpuTable(header []string, rows [][]string) (domain.Topology, error) {
	if len(rows) > maxCPUs {
		return domain.Topology{}, fmt.Errorf("more than %d CPUs", maxCPUs)
	}
	var t domain.Topology
	for i, row := range rows {
		cpu := make(map[string]string, len(row))
		if len(row) != len(header) {
			return domain.Topology{}, fmt.Errorf("row %d has %d columns, the heading %d", i+1, len(row), len(header))
		}
		for j, name := range header {
			cpu[name] = row[j]
		}
		c, err := lscpuRow(cpu)
		if err != nil {
			return domain.Topology{}, fmt.Errorf("row %d: %w", i+1, err)
		}
		t.CPUs = append(t.CPUs, c)
	}
	if len(t.CPUs) == 0 {
		return t, errNotLscpu
	}
	if err := sortCPUs(t.CPUs); err != nil {
		return domain.Topology{}, err
	}
	makeCoresUnique(t.CPUs)
	return t, nil
}

// lscpuRow reads one CPU's row; columns by their names in capitals.
func lscpuRow(row map[string]string) (domain.CPU, error) {
	id, err := cpuID(row["CPU"])
	if err != nil {
		return domain.CPU{}, err
	}
	c := domain.CPU{ID: id, Online: true}
	for _, column := range []struct {
		name string
		to   *int
	}{{"SOCKET", &c.Socket}, {"CORE", &c.Core}, {"NODE", &c.Node}} {
		if *column.to, err = lscpuID(row[column.name]); err != nil {
			return domain.CPU{}, fmt.Errorf("CPU %d, %s: %w", id, column.name, err)
		}
	}
	switch strings.ToLower(row["ONLINE"]) {
	case "no", "n", "false":
		c.Online = false
	case "", "-", "yes", "y", "true":
	default:
		return domain.CPU{}, fmt.Errorf("CPU %d: online is %.20q", id, row["ONLINE"])
	}
	return c, nil
}

// lscpuID reads the id of a socket, core or node; empty and "-" are unknown.
func lscpuID(value string) (int, error) {
	if value == "" || value == "-" || value == "<nil>" {
		return -1, nil
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return -1, fmt.Errorf("%.20q is not an id", value)
	}
	return int(n), nil
}

// makeCoresUnique renumbers cores where the same number occurs in several
// sockets, as with lscpu -y; a core is then named after its lowest CPU.
func makeCoresUnique(cpus []domain.CPU) {
	socket := make(map[int]int)
	unique := true
	for _, c := range cpus {
		if c.Core < 0 {
			continue
		}
		if s, seen := socket[c.Core]; seen && s != c.Socket {
			unique = false
		}
		socket[c.Core] = c.Socket
	}
	if unique {
		return
	}
	lowest := make(map[[2]int]int)
	for i, c := range cpus {
		if c.Core < 0 {
			continue
		}
		key := [2]int{c.Socket, c.Core}
		if _, seen := lowest[key]; !seen {
			lowest[key] = c.ID
		}
		cpus[i].Core = lowest[key]
	}
}

// lscpuEntry is one line of plain output as -J prints it; since util-linux
// 2.38 lines lie under their headings.
type lscpuEntry struct {
	Field    string       `json:"field"`
	Data     any          `json:"data"`
	Children []lscpuEntry `json:"children"`
}

// lscpuJSON reads lscpu -J, and -J with -e or -p.
func lscpuJSON(data []byte) (domain.Topology, error) {
	var document struct {
		Lscpu []lscpuEntry     `json:"lscpu"`
		CPUs  []map[string]any `json:"cpus"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return domain.Topology{}, fmt.Errorf("lscpu -J: %w", err)
	}
	if len(document.CPUs) > 0 {
		return lscpuObjects(document.CPUs)
	}
	return lscpuSummary(flattenLscpu(nil, document.Lscpu))
}

// lscpuObjects builds a topology from one object per CPU.
func lscpuObjects(objects []map[string]any) (domain.Topology, error) {
	header := []string{"CPU", "NODE", "SOCKET", "CORE", "ONLINE"}
	rows := make([][]string, 0, len(objects))
	for _, object := range objects {
		row := make([]string, len(header))
		for i, name := range header {
			if v, found := object[strings.ToLower(name)]; found {
				row[i] = fmt.Sprint(v)
			}
		}
		rows = append(rows, row)
	}
	return lscpuTable(header, rows)
}

func flattenLscpu(to []lscpuField, entries []lscpuEntry) []lscpuField {
	for _, e := range entries {
		if e.Data != nil {
			to = append(to, lscpuField{strings.TrimSuffix(strings.TrimSpace(e.Field), ":"), fmt.Sprint(e.Data)})
		}
		to = flattenLscpu(to, e.Children)
	}
	return to
}
