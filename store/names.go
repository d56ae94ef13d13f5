package store

import (
	"context"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
)

// Bounds of what a Store remembers of the database; beyond them it begins anew.
const (
	rememberedNames = 65_536
	rememberedLines = 262_144
)

// longestName bounds, in bytes, the text of a key: an index of Postgres takes
// about 2,700. No name of Oracle or Linux is nearly as long.
const longestName = 512

// longestText bounds other text: Oracle's columns hold at most 64 characters
// (MODULE, MACHINE, SERVICE_NAME), a SID and a path some more.
const longestText = 2_048

// storable gives a text as Postgres can hold it: valid UTF-8 without NUL, and
// not longer than the limit.
func storable(s string, limit int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// names remembers the numbers of names: events, counters, commands, devices.
type names struct {
	mu sync.RWMutex
	id map[string]NameID
}

func (n *names) known(list []string, id []NameID) (missing []string) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for i, name := range list {
		known, ok := n.id[name]
		if !ok && name != "" { // number 0 is no name
			missing = append(missing, name)
		}
		id[i] = known
	}
	return missing
}

func (n *names) remember(id map[string]NameID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.id == nil || len(n.id)+len(id) > rememberedNames {
		n.id = make(map[string]NameID, len(id))
	}
	for name, k := range id {
		n.id[name] = k
	}
}

// nameIDs gives the numbers of names, making those that are new. It commits them
// by itself: a batch that is rolled back must not leave remembered numbers that
// do not exist. The names are storable.
func (s *Store) nameIDs(ctx context.Context, list []string) ([]NameID, error) {
	ids := make([]NameID, len(list))
	missing := s.names.known(list, ids)
	if missing == nil {
		return ids, nil
	}
	found := make(map[string]NameID, len(missing))
	err := s.step(ctx, "number names", func(ctx context.Context) error {
		if err := s.findNames(ctx, missing, found); err != nil || len(found) == len(missing) {
			return err
		}
		// In order, so that two writers of the same names never wait for each
		// other in a circle.
		_, err := s.pool.Exec(ctx, `INSERT INTO names (name) SELECT DISTINCT n FROM unnest($1::text[]) AS n ORDER BY n ON CONFLICT (name) DO NOTHING`, missing)
		if err != nil {
			return err
		}
		return s.findNames(ctx, missing, found)
	})
	if err != nil {
		return nil, err
	}
	s.names.remember(found)
	for i, name := range list {
		if k, ok := found[name]; ok {
			ids[i] = k
		}
	}
	return ids, nil
}

func (s *Store) findNames(ctx context.Context, list []string, found map[string]NameID) error {
	rows, err := s.pool.Query(ctx, `SELECT name, name_id FROM names WHERE name = ANY ($1)`, list)
	if err != nil {
		return err
	}
	var name string
	var id NameID
	_, err = pgx.ForEachRow(rows, []any{&name, &id}, func() error {
		found[name] = id
		return nil
	})
	return err
}

// Node gives the number of the node of that name, which it makes if it is new.
func (s *Store) Node(ctx context.Context, name string) (NodeID, error) {
	name = storable(name, longestName)
	var id NodeID
	err := s.step(ctx, "number the node", func(ctx context.Context) error {
		return s.findOrMake(ctx, &id, name,
			`SELECT node_id FROM nodes WHERE name = $1`,
			`INSERT INTO nodes (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`)
	})
	return id, err
}

// findOrMake gives the number of a named row, and makes the row if it is new. It
// looks first: an INSERT that meets the row would use up a number of the sequence.
func (s *Store) findOrMake(ctx context.Context, id any, name, find, create string) error {
	err := s.pool.QueryRow(ctx, find, name).Scan(id)
	if err != pgx.ErrNoRows { //nolint:errorlint // Scan gives it as it is
		return err
	}
	if _, err := s.pool.Exec(ctx, create, name); err != nil {
		return err
	}
	return s.pool.QueryRow(ctx, find, name).Scan(id)
}

// lines remembers the numbers of nodes' interrupt lines.
type lines struct {
	mu    sync.RWMutex
	id    map[NodeID]map[domain.Line]int32
	count int
}

func (l *lines) known(node NodeID, list []domain.Line, id []int32) (missing bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	of := l.id[node]
	for i, line := range list {
		known, ok := of[line]
		missing = missing || !ok
		id[i] = known
	}
	return missing
}

func (l *lines) remember(node NodeID, id map[domain.Line]int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count += len(id) - len(l.id[node])
	if l.id == nil || l.count > rememberedLines {
		l.id, l.count = map[NodeID]map[domain.Line]int32{}, len(id)
	}
	l.id[node] = id
}

// lineIDs gives the numbers of a node's interrupt lines, making those that are
// new. Like names they are committed by themselves.
func (s *Store) lineIDs(ctx context.Context, node NodeID, list []domain.Line) ([]int32, error) {
	ids := make([]int32, len(list))
	if !s.lines.known(node, list, ids) {
		return ids, nil
	}
	var all map[domain.Line]int32
	err := s.inTx(ctx, "number interrupt_lines", func(ctx context.Context, tx pgx.Tx) error {
		// One writer at a time numbers the lines of a node.
		if _, err := tx.Exec(ctx, `SELECT FROM nodes WHERE node_id = $1 FOR NO KEY UPDATE`, node); err != nil {
			return err
		}
		var err error
		if all, err = findLines(ctx, tx, node); err != nil {
			return err
		}
		return insertLines(ctx, tx, node, list, all)
	})
	if err != nil {
		return nil, err
	}
	s.lines.remember(node, all)
	for i, line := range list {
		ids[i] = all[line]
	}
	return ids, nil
}

func findLines(ctx context.Context, tx pgx.Tx, node NodeID) (map[domain.Line]int32, error) {
	rows, err := tx.Query(ctx, `SELECT line_id, irq, device, class FROM interrupt_lines WHERE node_id = $1`, node)
	if err != nil {
		return nil, err
	}
	found := map[domain.Line]int32{}
	var id int32
	var class int16
	var line domain.Line
	_, err = pgx.ForEachRow(rows, []any{&id, &line.IRQ, &line.Device, &class}, func() error {
		line.Class = domain.DeviceClass(class) //nolint:gosec // written by insertLines
		found[line] = id
		return nil
	})
	return found, err
}

// insertLines numbers the lines that are not in all, and adds them.
func insertLines(ctx context.Context, tx pgx.Tx, node NodeID, list []domain.Line, all map[domain.Line]int32) error {
	last := int32(0)
	for _, id := range all {
		last = max(last, id)
	}
	var id []int32
	var irq, device []string
	var class []int16
	for _, line := range list {
		if _, ok := all[line]; ok {
			continue
		}
		last++
		all[line] = last
		id, irq, device, class = append(id, last), append(irq, line.IRQ), append(device, line.Device), append(class, int16(line.Class))
	}
	_, err := tx.Exec(ctx, `INSERT INTO interrupt_lines (node_id, line_id, irq, device, class)
		SELECT $1, * FROM unnest($2::int4[], $3::text[], $4::text[], $5::int2[])`, node, id, irq, device, class)
	return err
}
