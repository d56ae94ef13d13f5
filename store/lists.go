package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
)

// Collection is a named set of rows outside retention: an import, or the evidence
// of an incident.
type Collection struct {
	ID        CollectionID
	Name      string
	CreatedAt time.Time
	Note      string
	Evidence  bool // of an incident
}

const collectionColumns = "collection_id, name, created_at, note, incident_id IS NOT NULL"

func readCollection(r *rowReader) (Collection, error) {
	c := Collection{ID: CollectionID(r.int4()), Name: r.text(), CreatedAt: instant(r.time()), Note: r.text(), Evidence: r.bool()}
	return c, r.err
}

// CollectionByName gives a collection. ErrNotFound where there is none.
func (s *Store) CollectionByName(ctx context.Context, name string) (Collection, error) {
	var q query
	q.add("SELECT "+collectionColumns+" FROM collections WHERE name = ?", storable(name, longestName))
	found, err := readAll(ctx, s, "read collections", &q, readCollection)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("collection %q: %w", name, ErrNotFound)
	}
	if err != nil {
		return Collection{}, err
	}
	return found[0], nil
}

// Collections lists collections, the newest first.
func (s *Store) Collections(ctx context.Context, p Page) ([]Collection, Cursor, error) {
	before := CollectionID(math.MaxInt32)
	if _, err := p.After.read("collections", &before); err != nil {
		return nil, "", err
	}
	var q query
	q.add("SELECT "+collectionColumns+" FROM collections WHERE collection_id < ? ORDER BY collection_id DESC", before)
	return readPage(ctx, s, "list collections", &q, p, readCollection, func(c *Collection) Cursor { return newCursor("collections", c.ID) })
}

// CollectedNode is a node that a collection holds.
type CollectedNode struct {
	Node NodeID
	Name string
	CollectionNode
}

// CollectionNodes lists the nodes whose part of a collection is complete, with
// the files that each was imported from.
func (s *Store) CollectionNodes(ctx context.Context, id CollectionID, p Page) ([]CollectedNode, Cursor, error) {
	after := NodeID(math.MinInt32)
	if _, err := p.After.read("collection_nodes", &after); err != nil {
		return nil, "", err
	}
	var q query
	q.add(`SELECT c.node_id, n.name, c.timezone_db, c.timezone_host, c.timezone_source, c.warnings, c.notes
		FROM collection_nodes AS c JOIN nodes AS n ON n.node_id = c.node_id
		WHERE c.collection_id = ? AND c.node_id > ? ORDER BY c.node_id`, id, after)
	list, next, err := readPage(ctx, s, "list collection_nodes", &q, p, readCollectedNode, func(n *CollectedNode) Cursor { return newCursor("collection_nodes", n.Node) })
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		if list[i].Inputs, err = s.inputs(ctx, list[i].Node, id); err != nil {
			return nil, "", err
		}
	}
	return list, next, nil
}

func readCollectedNode(r *rowReader) (CollectedNode, error) {
	n := CollectedNode{Node: NodeID(r.int4()), Name: r.text()}
	n.Timezone = domain.Timezone{DB: textOrNil(r.text()), Host: textOrNil(r.text()), Source: textOrNil(r.text())}
	n.Warnings, n.Notes = r.texts(), r.texts()
	return n, r.err
}

// textOrNil gives a text that is kept as empty where it is unknown.
func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// inputs gives the files that a node was imported from: an import holds their
// number to far less than memory holds.
func (s *Store) inputs(ctx context.Context, node NodeID, id CollectionID) ([]domain.Input, error) {
	var q query
	q.add(`SELECT path, kind, records, unread, note, first_unread FROM collection_inputs
		WHERE node_id = ? AND collection_id = ? ORDER BY path COLLATE "C"`, node, id)
	return readAll(ctx, s, "list collection_inputs", &q, func(r *rowReader) (domain.Input, error) {
		in := domain.Input{Path: r.text(), Kind: r.text(), Records: r.int8(), Unread: r.int8(), Note: r.text()}
		if why := r.field(); why != nil {
			in.FirstBad = new(string)
			*in.FirstBad = string(why)
		}
		return in, r.err
	})
}

// Node is a database node.
type Node struct {
	ID        NodeID
	Name      string
	CreatedAt time.Time
}

// Nodes lists the nodes by their names, in the order of the database.
func (s *Store) Nodes(ctx context.Context, p Page) ([]Node, Cursor, error) {
	after := ""
	resumed, err := p.After.read("nodes", &after)
	if err != nil {
		return nil, "", err
	}
	var q query
	q.add("SELECT node_id, name, created_at FROM nodes")
	if resumed { // a node whose files name no host has no name
		q.add("WHERE name > ?", after)
	}
	q.add("ORDER BY name")
	read := func(r *rowReader) (Node, error) {
		n := Node{ID: NodeID(r.int4()), Name: r.text(), CreatedAt: instant(r.time())}
		return n, r.err
	}
	return readPage(ctx, s, "list nodes", &q, p, read, func(n *Node) Cursor { return newCursor("nodes", n.Name) })
}

// NodeInstance is an instance that was seen on a node.
type NodeInstance struct {
	domain.Instance

	Database            string // "" unknown
	FirstSeen, LastSeen time.Time
}

// Instances lists the instances of a node by INST_ID and name, as the live tables
// or a collection tell.
func (s *Store) Instances(ctx context.Context, src Source, p Page) ([]NodeInstance, Cursor, error) {
	inst, name := -math.MaxInt16, ""
	if _, err := p.After.read("instances", &inst, &name); err != nil {
		return nil, "", err
	}
	var q query
	q.add(`SELECT inst_id, name, host, database, first_seen, last_seen FROM instances
		WHERE node_id = ? AND collection_id = ? AND (inst_id, name) > (?::int2, ?) ORDER BY inst_id, name`, src.Node, src.Collection, inst, name)
	read := func(r *rowReader) (NodeInstance, error) {
		i := NodeInstance{Instance: domain.Instance{InstID: int(r.int2()), Name: r.text(), Host: r.text()}, Database: r.text()}
		i.FirstSeen, i.LastSeen = instant(r.time()), instant(r.time())
		return i, r.err
	}
	return readPage(ctx, s, "list instances", &q, p, read, func(i *NodeInstance) Cursor { return newCursor("instances", i.InstID, i.Name) })
}

// readAll gives the rows of a query, which bounds them.
func readAll[T any](ctx context.Context, s *Store, operation string, q *query, read func(*rowReader) (T, error)) ([]T, error) {
	var list []T
	err := s.stream(ctx, s.pool, operation, q.sql.String(), q.args, func(r *rowReader) error {
		v, err := read(r)
		list = append(list, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// readPage gives the rows of a page and where the next one begins. It asks for
// one more than the limit: that one tells whether there is a next page.
func readPage[T any](ctx context.Context, s *Store, operation string, q *query, p Page, read func(*rowReader) (T, error), cursor func(*T) Cursor) ([]T, Cursor, error) {
	limit := p.limit()
	q.add("LIMIT ?", limit+1)
	list, err := readAll(ctx, s, operation, q, read)
	if err != nil || len(list) <= limit {
		return list, "", err
	}
	return list[:limit], cursor(&list[limit-1]), nil
}
