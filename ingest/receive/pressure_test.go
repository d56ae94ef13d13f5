package receive_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/store"
)

// waiting makes a keeper's pushes wait until release is called.
func waiting(k *keeper) (arrived <-chan struct{}, release func()) {
	came, gate := make(chan struct{}, 100), make(chan struct{})
	k.push = func(context.Context) error {
		came <- struct{}{}
		<-gate
		return nil
	}
	return came, sync.OnceFunc(func() { close(gate) })
}

// await waits until a push is in the keeper.
func await(t *testing.T, arrived <-chan struct{}) {
	t.Helper()
	select {
	case <-arrived:
	case <-time.After(10 * time.Second):
		t.Fatal("no push arrives")
	}
}

func TestWhatIsTooMuchAtOnceIsPutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		o      receive.Options
		others bool // the push put off is another credential's
		held   int  // pushes that are let in and wait
		want   string
	}{
		{"pushes of all", receive.Options{MaxInFlight: 1}, true, 1, "as many pushes"},
		{"bytes of all", receive.Options{MaxInFlightBytes: 300}, true, 1, "as many bytes"},
		{"pushes of one credential", receive.Options{}, false, 2, "earlier pushes of this credential"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k, token := newKeeper()
			other := receive.NewToken()
			k.tokens[other.ID] = store.Token{ID: other.ID, Node: 2, Hash: other.Hash}
			arrived, release := waiting(k)
			defer release()
			s := serve(t, k, c.o)
			var all sync.WaitGroup
			for n := range c.held {
				all.Go(func() {
					if _, refused := s.send(s.request(token.Text, marshal(t, sampled(1, uint64(n+1), time.Now())))); refused != nil {
						t.Errorf("push %d: %v", n, refused)
					}
				})
				await(t, arrived)
			}
			text := token.Text
			if c.others {
				text = other.Text
			}
			next := func() *api.Error {
				_, refused := s.send(s.request(text, marshal(t, sampled(2, 9, time.Now()))))
				return refused
			}
			if refused := next(); refused == nil || refused.Code != api.CodeBusy || refused.RetryAfter <= 0 || !strings.Contains(refused.Message, c.want) {
				t.Errorf("got %v, want busy: %s", refused, c.want)
			}
			release()
			all.Wait()
			if refused := next(); refused != nil {
				t.Errorf("once there is room: %v", refused)
			}
		})
	}
}

func TestACredentialThatPushesTooOftenIsPutOffAndOthersAreNot(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	other := receive.NewToken()
	k.tokens[other.ID] = store.Token{ID: other.ID, Node: 2, Hash: other.Hash}
	clock := &clock{now: now}
	s := serve(t, k, receive.Options{PushesPerSecond: 2, Now: clock.Now})
	push := func(token string) *api.Error {
		_, refused := s.send(s.request(token, marshal(t, sampled(1, 1, now))))
		return refused
	}
	for n := range 6 { // three seconds' worth at once
		if refused := push(token.Text); refused != nil {
			t.Errorf("push %d: %v", n, refused)
		}
	}
	if refused := push(token.Text); refused == nil || refused.Code != api.CodeBusy {
		t.Errorf("the seventh at once: %v", refused)
	}
	if refused := push(other.Text); refused != nil {
		t.Errorf("another credential: %v", refused)
	}
	clock.pass(500 * time.Millisecond)
	if refused := push(token.Text); refused != nil {
		t.Errorf("half a second later: %v", refused)
	}
}

// Of eight pushes one takes longer than the bound: while that is recent, a quarter
// as many are let in at the same time.
func TestWhileTheDatabaseLagsFewerAreLetIn(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	other := receive.NewToken()
	k.tokens[other.ID] = store.Token{ID: other.ID, Node: 2, Hash: other.Hash}
	clock := &clock{now: now}
	s := serve(t, k, receive.Options{MaxInFlight: 4, SlowPush: 20 * time.Millisecond, Now: clock.Now, PushesPerSecond: 1_000})
	push := func(token string) *api.Error {
		_, refused := s.send(s.request(token, marshal(t, sampled(1, 1, now))))
		return refused
	}
	for n := range 8 {
		k.change(func(k *keeper) {
			k.push = nil
			if n == 3 {
				k.push = func(ctx context.Context) error {
					timer := time.NewTimer(30 * time.Millisecond)
					defer timer.Stop()
					select {
					case <-timer.C:
					case <-ctx.Done():
					}
					return nil
				}
			}
		})
		if refused := push(token.Text); refused != nil {
			t.Fatal(refused)
		}
	}
	clock.pass(2 * time.Second)
	var arrived <-chan struct{}
	var release func()
	k.change(func(k *keeper) { arrived, release = waiting(k) })
	defer release()
	var held sync.WaitGroup
	held.Go(func() {
		if refused := push(token.Text); refused != nil {
			t.Errorf("the only one: %v", refused)
		}
	})
	await(t, arrived)
	if refused := push(other.Text); refused == nil || refused.Code != api.CodeBusy || !strings.Contains(refused.Message, "lags") {
		t.Errorf("a second one while the database lags: %v", refused)
	}
	clock.pass(31 * time.Second)
	var second sync.WaitGroup
	second.Go(func() {
		if refused := push(other.Text); refused != nil {
			t.Errorf("a second one half a minute later: %v", refused)
		}
	})
	await(t, arrived)
	release()
	held.Wait()
	second.Wait()
}

// A body of 1,000 bytes of which 20 come: by HTTP/1.1 on a connection of its own,
// since a client that is done would take its body back.
func TestASlowClientIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	s := serve(t, k, receive.Options{BodyDeadline: 50 * time.Millisecond})
	dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.authority.pool}}
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Encoding: %s\r\nContent-Length: 1000\r\n\r\n%s",
		api.Path, token.Text, api.MediaType, api.ContentEncoding, marshal(t, sampled(1, 1, now))[:20])
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if refused, ok := api.ReadError(response); !ok || refused.Code != api.CodeSlow || !response.Close {
		t.Errorf("got %v, close %v", refused, response.Close)
	}
	if n := s.counted("corewait_receive_in_flight", ""); n != 0 {
		t.Errorf("%v pushes are still in flight", n)
	}
}

func TestAPushWaitsALittleForRoom(t *testing.T) {
	t.Parallel()
	k, token := newKeeper()
	other := receive.NewToken()
	k.tokens[other.ID] = store.Token{ID: other.ID, Node: 2, Hash: other.Hash}
	arrived, release := waiting(k)
	defer release()
	s := serve(t, k, receive.Options{MaxInFlight: 1})
	var all sync.WaitGroup
	for _, text := range []string{token.Text, other.Text} {
		all.Go(func() {
			if _, refused := s.send(s.request(text, marshal(t, sampled(1, 1, time.Now())))); refused != nil {
				t.Error(refused)
			}
		})
	}
	await(t, arrived)
	if n := s.counted("corewait_receive_in_flight", ""); n != 1 {
		t.Errorf("%v pushes are worked on, want 1", n)
	}
	release()
	all.Wait()
	if n := s.counted("corewait_receive_in_flight", ""); n != 0 {
		t.Errorf("%v pushes are still worked on", n)
	}
}
