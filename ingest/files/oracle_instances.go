package files

import (
	"slices"
	"strings"

	"github.com/corewait/corewait/domain"
)

// instanceTable reads V$INSTANCE.
type instanceTable struct {
	file             *oracleFile
	inst, name, host int
}

func newInstanceTable(f *oracleFile, c oracleColumns) *instanceTable {
	return &instanceTable{
		file: f,
		inst: c.first("INST_ID", "INSTANCE_NUMBER"),
		name: c.first("INSTANCE_NAME"),
		host: c.first("HOST_NAME"),
	}
}

func (t *instanceTable) row(line int, cells [][]byte) error {
	inst, err := instanceNumber(cells, t.inst)
	if err != nil {
		t.file.in.problem(line, err.Error())
		return nil
	}
	name := t.file.texts.of(cellAt(cells, t.name))
	if name == "" {
		t.file.in.problem(line, "INSTANCE_NAME: no value")
		return nil
	}
	t.file.in.count++
	return t.file.to.Instance(domain.Instance{InstID: inst, Name: name, Host: t.file.texts.of(cellAt(cells, t.host))})
}

func (t *instanceTable) lost() {}

func (t *instanceTable) end(bool) error { return nil }

// maxInterconnects bounds the interfaces of one result set.
const maxInterconnects = 256

// interconnectTable reads V$CLUSTER_INTERCONNECTS and
// V$CONFIGURED_INTERCONNECTS, which also lists public interfaces.
type interconnectTable struct {
	file         *oracleFile
	name, public int
	private, any []string
}

func (t *interconnectTable) row(line int, cells [][]byte) error {
	// HAIP addresses are aliases: eth1:1 is on eth1.
	name, _, _ := strings.Cut(t.file.texts.of(cellAt(cells, t.name)), ":")
	if name == "" || len(t.any) == maxInterconnects {
		t.file.in.problem(line, "interconnect without a name, or too many")
		return nil
	}
	t.file.in.count++
	if !slices.Contains(t.any, name) {
		t.any = append(t.any, name)
	}
	if !strings.EqualFold(string(cellAt(cells, t.public)), "YES") && !slices.Contains(t.private, name) {
		t.private = append(t.private, name)
	}
	return nil
}

func (t *interconnectTable) lost() {}

// end sends the private interfaces; where all are public, the cluster uses those.
func (t *interconnectTable) end(bool) error {
	names := t.private
	if len(names) == 0 {
		names = t.any
	}
	t.private, t.any = nil, nil
	if len(names) == 0 {
		return nil
	}
	return t.file.to.Topology(domain.Topology{Interconnects: names})
}
