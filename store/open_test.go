package store_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

func TestOpenRefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	_, err := store.Open(t.Context(), store.Options{URL: testdb.URL(t)})
	if !errors.Is(err, store.ErrSchemaOld) || errors.Is(err, store.ErrSchemaNew) || !strings.Contains(err.Error(), "`corewait migrate up`") {
		t.Errorf("empty database: %v", err)
	}
	d := openDatabase(t)
	address := d.Pool().Config().ConnString()
	d.exec(`INSERT INTO corewait_migrations (version_id, is_applied) VALUES (99999, true)`)
	var of *store.SchemaError
	_, err = store.Open(t.Context(), store.Options{URL: address})
	if !errors.Is(err, store.ErrSchemaNew) || errors.Is(err, store.ErrSchemaOld) || !errors.As(err, &of) || of.Database != 99999 {
		t.Errorf("newer database: %v", err)
	}
	d.exec(`DELETE FROM corewait_migrations WHERE version_id >= (SELECT max(version_id) FROM corewait_migrations WHERE version_id < 99999)`)
	if _, err = store.Open(t.Context(), store.Options{URL: address}); !errors.Is(err, store.ErrSchemaOld) {
		t.Errorf("one migration short: %v", err)
	}
}

func TestOpenTellsTheMode(t *testing.T) {
	t.Parallel()
	if mode := openDatabase(t).Mode(); mode != "plain" && mode != "timescaledb" {
		t.Errorf("mode is %q", mode)
	}
}

// Postgres looks first into a schema with the role's name, and PGOPTIONS or the
// role may say another encoding.
func TestRowsGoToPublicAsUTF8WhateverTheSessionsDefaultsAre(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.exec(`CREATE SCHEMA archive`)
	d.exec(`CREATE TABLE archive.nodes (LIKE public.nodes INCLUDING ALL)`)
	d.exec(`CREATE TABLE archive.corewait_settings (LIKE public.corewait_settings)`)
	address := d.Pool().Config().ConnString()
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	astray := openStore(t, store.Options{URL: address + separator + "search_path=archive,public&client_encoding=LATIN1"})
	astray.node("dbé")
	d.wantLines([]string{"dbé"}, `SELECT name FROM public.nodes`)
	if n := d.count("archive.nodes"); n != 0 {
		t.Errorf("%d rows went to a table of somebody else", n)
	}
}

// Addresses that drivers quote in their errors. Nothing answers on port 1.
func TestErrorsDoNotTellThePassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://u:se#cret@127.0.0.1:1/d",
		"postgres://u:se/cret@127.0.0.1:1/d",
		"postgres://u:secret@127.0.0.1:port/d",
		"postgres://u:secret@127.0.0.1:1/d?sslmode=what",
		"postgres://u:secret@127.0.0.1:1/d?pool_max_conns=secret",
		"postgres://u:secret@127.0.0.1:1/d?connect_timeout=1",
		"host=127.0.0.1 port=1 user=u password='secret connect_timeout=1",
		"host=127.0.0.1 port=1 user=u password=secret dbname=d connect_timeout=1",
	} {
		s, err := store.Open(t.Context(), store.Options{URL: address, Deadline: 5 * time.Second})
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", address)
			continue
		}
		if strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// silent gives the address of a peer that accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return "postgres://u@" + listener.Addr().String() + "/d?sslmode=disable"
}

func TestADeadlineNamesTheOperation(t *testing.T) {
	t.Parallel()
	_, err := store.Open(t.Context(), store.Options{URL: silent(t), Deadline: 200 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "read the schema's version: ") {
		t.Errorf("silent server: %v", err)
	}

	// A lock on one of the tables: the push waits for it.
	d := openDatabase(t)
	const deadline = 3 * time.Second // enough for what does not wait for the lock, on a busy machine
	s := openStore(t, store.Options{URL: d.Pool().Config().ConnString(), Deadline: deadline})
	node, at := d.node("db1"), today()
	d.push(node, receipt(1), gather(t, interrupts(at, 1)))
	tx, err := d.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tx.Exec(t.Context(), `LOCK TABLE interrupt_samples`); err != nil {
		t.Fatal(err)
	}
	batch := gather(t, interrupts(at.Add(time.Hour), 1))
	stored, err := s.Push(t.Context(), node, receipt(2), batch)
	var of *store.OperationError
	if stored || !errors.As(err, &of) || of.Operation != "copy interrupt_samples" || !errors.Is(err, context.DeadlineExceeded) ||
		!strings.HasPrefix(err.Error(), "copy interrupt_samples: deadline of 3s exceeded: ") {
		t.Errorf("locked table: stored %v, %v", stored, err)
	}
	// The caller's own deadline is not the store's.
	short, cancel := context.WithTimeout(t.Context(), deadline/10)
	defer cancel()
	if _, err = s.Push(short, node, receipt(2), batch); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "deadline of 3s") {
		t.Errorf("caller's deadline: %v", err)
	}
	if err = tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Pushed again, it is there once: the caller that gave up does not know
	// whether it was stored.
	patient := openStore(t, store.Options{URL: d.Pool().Config().ConnString()})
	if _, err := patient.Push(t.Context(), node, receipt(2), batch); err != nil {
		t.Errorf("the push after the lock: %v", err)
	}
	if n := d.count("interrupt_samples"); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

// A server that is not where the address says: any port of the loopback that
// nobody listens on.
func TestAnAddressWithoutAServerIsAnErrorOfConnecting(t *testing.T) {
	t.Parallel()
	parsed, err := url.Parse(silent(t))
	if err != nil {
		t.Fatal(err)
	}
	parsed.Host = "127.0.0.1:1"
	_, err = store.Open(t.Context(), store.Options{URL: parsed.String()})
	var of *store.OperationError
	if !errors.As(err, &of) || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A batch that fails leaves names and lines that exist, and only such.
func TestNumbersOfAFailedBatchExist(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, at := d.node("db1"), today()
	wait := func(event string) func(b *store.Batch) error {
		return func(b *store.Batch) error {
			return errors.Join(
				b.Wait(domain.Wait{At: at, SampleID: 1, SessionID: 1, Event: event}),
				b.DeviceSample(&domain.DeviceSample{From: at, To: at.Add(time.Second), Gains: []domain.LineGain{{Line: domain.Line{IRQ: event}, CPU: 1, Count: 1}}}),
			)
		}
	}
	d.exec(`ALTER TABLE waits ADD CONSTRAINT ck_none CHECK (false) NOT VALID`)
	if _, err := d.Push(t.Context(), node, receipt(1), gather(t, wait("first"))); err == nil {
		t.Fatal("the push was stored")
	}
	if n := d.count("receipts"); n != 0 {
		t.Errorf("%d receipts of a push that failed", n)
	}
	d.exec(`ALTER TABLE waits DROP CONSTRAINT ck_none`)
	d.push(node, receipt(1), gather(t, wait("first")))
	d.wantLines([]string{"first first"}, `SELECT name || ' ' || irq FROM waits JOIN names ON name_id = event_id JOIN device_samples d USING (node_id)
		JOIN interrupt_lines l ON l.node_id = d.node_id AND line_id = (corewait_numbers(line_ids))[1]`)
}

// Two stores number the same lines and names at the same time.
func TestConcurrentWritersAgreeOnNumbers(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	const writers = 4
	stores := [writers]*database{d}
	for i := 1; i < writers; i++ {
		stores[i] = openStore(t, store.Options{URL: d.Pool().Config().ConnString()})
	}
	node, at := d.node("db1"), today()
	failed := make(chan error, writers)
	for i, s := range stores {
		go func() {
			b := store.NewBatch()
			gains := make([]domain.LineGain, 50)
			var err error
			for k := range gains {
				name := string(rune('A' + (k*7+i*13)%50))
				gains[k] = domain.LineGain{Line: domain.Line{IRQ: name}, CPU: k, Count: int64(name[0])}
				err = errors.Join(err, b.Wait(domain.Wait{At: at, SampleID: int64(i), SessionID: k, Event: name, P1: int64(name[0])}))
			}
			err = errors.Join(err, b.DeviceSample(&domain.DeviceSample{From: at.Add(time.Duration(i) * time.Second), To: at.Add(time.Hour), Gains: gains}))
			_, pushed := s.Push(t.Context(), node, receipt(int64(i)), b)
			failed <- errors.Join(err, pushed)
		}()
	}
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	// Counts and P1 are the first letter of the name that the number must give.
	d.wantLines([]string{"200 200"}, `SELECT (SELECT count(*) FROM waits JOIN names ON name_id = event_id WHERE ascii(name) = p1) || ' ' ||
		(SELECT count(*) FROM device_samples s, unnest(corewait_numbers(line_ids), corewait_numbers(counts)) AS g (line_id, n) JOIN interrupt_lines l USING (line_id) WHERE l.node_id = s.node_id AND ascii(irq) = n)`)
	d.wantLines([]string{"50 50"}, `SELECT count(*) || ' ' || max(line_id) FROM interrupt_lines`)
}
