package receive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/store"
)

func TestABatchThatWillNeverBeTakenIsToldFromOneThatMightBe(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	s := serve(t, k, receive.Options{Limits: api.Limits{Body: 10_000, Decompressed: 20_000, Messages: 100}})
	good := marshal(t, sampled(1, 1, time.Now()))
	wrong := sampled(1, 1, time.Now())
	wrong.Interrupts[3].Cpus = []uint32{0, 1, 2}
	many := sampled(1, 1, time.Now())
	many.Gaps = make([]*corewaitv1.Gap, 200)
	for i := range many.GetGaps() {
		many.Gaps[i] = &corewaitv1.Gap{}
	}
	large := sampled(1, 1, time.Now())
	large.Hostname = strings.Repeat("h", 30_000)
	random := bytes.Repeat([]byte{1, 2, 3}, 5_000)
	for _, c := range []struct {
		name    string
		body    []byte
		change  func(*http.Request)
		code    api.Code
		message string
	}{
		{"bytes that are no frame", []byte("hello"), nil, api.CodeMalformed, "zstd"},
		{"nothing, as from a proxy that authenticates", nil, nil, api.CodeSlow, "the body is empty"},
		{"a body over the limit", random, nil, api.CodeTooLarge, "15000 bytes, at most 10000"},
		{"one of which the length is not said", random, func(r *http.Request) { r.ContentLength = -1 }, api.CodeTooLarge, "at most 10000 bytes"},
		{"too much decompressed", marshal(t, large), nil, api.CodeTooLarge, "decompressed"},
		{"too many messages", marshal(t, many), nil, api.CodeTooLarge, "messages"},
		{"lists that do not fit", marshal(t, wrong), nil, api.CodeUnusable, "interrupts[3]: 3 CPUs and 2 counts"},
		{"no clock", marshal(t, &corewaitv1.Batch{SpoolId: make([]byte, 16), Sequence: 1, BootId: "b"}), nil, api.CodeUnusable, "clock: no reading"},
		{"another media type", good, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, api.CodeUnsupported, "application/x-protobuf"},
		{"another encoding", good, func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, api.CodeUnsupported, "zstd"},
	} {
		req := s.request(token.Text, c.body)
		if c.change != nil {
			c.change(req)
		}
		_, refused := s.send(req)
		if refused == nil || refused.Code != c.code || !strings.Contains(refused.Message, c.message) {
			t.Errorf("%s: %v, want %s with %q", c.name, refused, c.code, c.message)
		}
		if n := s.counted("corewait_receive_requests_total", string(c.code)); n == 0 {
			t.Errorf("%s is not counted", c.name)
		}
	}
	if k.pushes != 0 {
		t.Errorf("%d pushes came through", k.pushes)
	}
	if bytes := s.counted("corewait_receive_in_flight_bytes", ""); bytes != 0 {
		t.Errorf("%v bytes are still reserved", bytes)
	}
	for _, path := range []string{"/v1/other", "/"} {
		if status, _ := s.get(path); status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if status, _ := s.get(api.Path); status != http.StatusMethodNotAllowed {
		t.Errorf("GET of %s: status %d", api.Path, status)
	}
}

func TestWhatTheDatabaseSaysDecidesWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	s := serve(t, k, receive.Options{PushDeadline: 50 * time.Millisecond})
	for _, c := range []struct {
		name string
		push func(context.Context) error
		want api.Code
	}{
		{"refuses connections", func(context.Context) error { return errors.New("connection refused") }, api.CodeUnavailable},
		{"shuts down", func(context.Context) error { return &pgconn.PgError{Code: "57P01"} }, api.CodeUnavailable},
		{"is full", func(context.Context) error { return &pgconn.PgError{Code: "53100"} }, api.CodeUnavailable},
		{"does not answer in time", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, api.CodeBusy},
		{"cannot hold a value", func(context.Context) error { return fmt.Errorf("copy: %w", &pgconn.PgError{Code: "22003"}) }, api.CodeUnusable},
		{"is given what is no row", func(context.Context) error { return fmt.Errorf("row: %w", store.ErrUnstorable) }, api.CodeUnusable},
	} {
		k.change(func(k *keeper) { k.push = c.push })
		_, refused := s.send(s.request(token.Text, marshal(t, sampled(1, 1, time.Now()))))
		switch {
		case refused == nil || refused.Code != c.want:
			t.Errorf("a database that %s: %v, want %s", c.name, refused, c.want)
		case (refused.RetryAfter > 0) == c.want.Permanent():
			t.Errorf("a database that %s: retry after %s", c.name, refused.RetryAfter)
		}
	}
}

func TestMetricsThatExistAreNotMadeTwice(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	k, _ := newKeeper()
	r, err := receive.New(k, receive.Options{Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := receive.New(k, receive.Options{Registerer: registry}); err == nil {
		t.Error("a second receiver registered the same metrics")
	}
}

// Whatever a known agent sends as batch and header, it gets one of the answers of
// the contract. (Bodies that are no frames are api's FuzzUnmarshal.)
func FuzzPush(f *testing.F) {
	k, token := newKeeper()
	r, err := receive.New(k, receive.Options{PushesPerSecond: 1e9})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(r.Close)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = z.Close() })
	plain, err := proto.Marshal(sampled(1, 1, now))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain, "0f3c8a52-5b7e-4a3e-9a55-1c7d2f60b9aa 3610000000 1767355200000000")
	f.Add(plain, "boot 1")
	f.Fuzz(func(t *testing.T, plain []byte, clock string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, api.Path, bytes.NewReader(z.EncodeAll(plain, nil)))
		req.Header.Set("Content-Type", api.MediaType)
		req.Header.Set("Content-Encoding", api.ContentEncoding)
		req.Header.Set("Authorization", "Bearer "+token.Text)
		req.Header.Set(api.ClockHeader, clock)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		switch response := w.Result(); response.StatusCode {
		case http.StatusOK:
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			if _, ok := api.ReadError(response); !ok {
				t.Error("not an error of the contract")
			}
		default:
			t.Errorf("status %d", response.StatusCode)
		}
	})
}
