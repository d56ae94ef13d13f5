package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/api"
)

// Codes and statuses of the contract.
func TestAnErrorIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for code, status := range map[api.Code]int{
		"malformed": 400, "unauthorized": 401, "revoked": 403, "slow": 408, "too-large": 413, "unsupported": 415, "unusable": 422, "busy": 429, "unavailable": 503,
	} {
		sent := &api.Error{Code: code, Message: `interrupts[3]: 64 CPUs and "63" counts`, RetryAfter: 3 * time.Second}
		w := httptest.NewRecorder()
		if err := sent.Write(w); err != nil {
			t.Fatal(err)
		}
		r := w.Result()
		if r.StatusCode != status {
			t.Errorf("%s: status %d, want %d", code, r.StatusCode, status)
		}
		if permanent := status == 400 || status == 413 || status == 422; code.Permanent() != permanent {
			t.Errorf("%s: permanent %v, want %v", code, code.Permanent(), permanent)
		}
		got, ok := api.ReadError(r)
		if diff := cmp.Diff(sent, got); !ok || diff != "" {
			t.Errorf("%s: -sent +read:\n%s", code, diff)
		}
	}
}

func TestAnAnswerOfSomethingElseIsNotTheServicesError(t *testing.T) {
	t.Parallel()
	const body = `{"error":{"code":"malformed","message":"m"}}`
	for name, r := range map[string]*http.Response{
		"a proxy's 400":                       {StatusCode: 400, Body: io.NopCloser(strings.NewReader("<html>"))},
		"a body without the header":           {StatusCode: 400, Body: io.NopCloser(strings.NewReader(body))},
		"a header of another status":          {StatusCode: 422, Header: http.Header{"Corewait-Error": {"malformed"}}, Body: io.NopCloser(strings.NewReader(body))},
		"a header with another body":          {StatusCode: 400, Header: http.Header{"Corewait-Error": {"malformed"}}, Body: io.NopCloser(strings.NewReader("<html>"))},
		"a header with another code's body":   {StatusCode: 413, Header: http.Header{"Corewait-Error": {"too-large"}}, Body: io.NopCloser(strings.NewReader(body))},
		"an endless body cut before its end ": {StatusCode: 400, Header: http.Header{"Corewait-Error": {"malformed"}}, Body: io.NopCloser(strings.NewReader(body[:20] + strings.Repeat(" ", 1<<20)))},
	} {
		if e, ok := api.ReadError(r); ok {
			t.Errorf("%s: read as %v", name, e)
		}
	}
}

func TestTheClockHeaderIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := api.SentClock{BootID: "0f3c8a52-5b7e-4a3e-9a55-1c7d2f60b9aa", BoottimeUS: 86_400_000_123, UTCUS: 1_767_355_200_000_000}
	got, err := api.ParseSentClock(want.String())
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, value := range []string{
		"", "boot", "boot 1", "boot 1 2 3", "boot -1 2", "boot x 2", "boot 1 x", "boot 9223372036854775807 2", "boot 1 9223372036854775807",
		strings.Repeat("b", 37) + " 1 2",
	} {
		if got, err := api.ParseSentClock(value); err == nil {
			t.Errorf("%q was read as %+v", value, got)
		}
	}
}
