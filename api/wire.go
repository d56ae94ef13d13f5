// Package api owns the wire contract between corewait-agent and corewait serve:
// the messages (corewaitv1, generated from batch.proto), how they are put into a
// request and taken out of it within bounds, what errors look like, how records
// of the domain become a batch, and which UTC an instant of a batch was. It must
// not know who receives a batch, nor what is kept of it.
package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A push is POST Path: a corewaitv1.Batch as Marshal gives it, with these
// headers, the node's credential and a Clock. It is answered by status 200 with a
// corewaitv1.Acknowledgement, or by an Error.
const (
	Path            = "/v1/batches"
	MediaType       = "application/x-protobuf"
	ContentEncoding = "zstd"

	// ClockHeader carries a SentClock.
	ClockHeader = "Corewait-Clock"
	// ErrorHeader carries the code of an Error. What stands between agent and
	// service does not set it: by it an agent knows the service's own word.
	ErrorHeader = "Corewait-Error"
)

// Bounds of a push.
const (
	MaxBody         = 4 << 20  // bytes, compressed
	MaxDecompressed = 32 << 20 // bytes
)

// Code says why a push was not taken.
type Code string

// Codes. An agent puts a batch aside on the first three, since it will never be
// taken; on all others, and on what is not an Error, it keeps it and tries again.
const (
	CodeMalformed    Code = "malformed"    // not a batch
	CodeTooLarge     Code = "too-large"    // beyond the service's bounds
	CodeUnusable     Code = "unusable"     // a batch whose values cannot be
	CodeUnauthorized Code = "unauthorized" // no credential that is known
	CodeRevoked      Code = "revoked"      // the credential was revoked
	CodeUnsupported  Code = "unsupported"  // another media type or encoding than this package's
	CodeSlow         Code = "slow"         // the body took too long
	CodeBusy         Code = "busy"         // later, see Retry-After
	CodeUnavailable  Code = "unavailable"  // the service cannot store just now
)

// Status gives the HTTP status that goes with a code.
func (c Code) Status() int {
	switch c {
	case CodeMalformed:
		return http.StatusBadRequest
	case CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case CodeUnusable:
		return http.StatusUnprocessableEntity
	case CodeUnauthorized:
		return http.StatusUnauthorized
	case CodeRevoked:
		return http.StatusForbidden
	case CodeUnsupported:
		return http.StatusUnsupportedMediaType
	case CodeSlow:
		return http.StatusRequestTimeout
	case CodeBusy:
		return http.StatusTooManyRequests
	case CodeUnavailable:
	}
	return http.StatusServiceUnavailable
}

// Permanent says that the batch will never be taken.
func (c Code) Permanent() bool {
	return c == CodeMalformed || c == CodeTooLarge || c == CodeUnusable
}

// Error is the service's answer to a push that it did not take.
type Error struct {
	Code       Code
	Message    string
	RetryAfter time.Duration // 0: not said
}

// Error gives code and message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// errorDocument is the body of an error.
type errorDocument struct {
	Error struct {
		Code    Code   `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// Write sends the error. A RetryAfter is rounded up to seconds.
func (e *Error) Write(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set(ErrorHeader, string(e.Code))
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if e.Code == CodeUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	var d errorDocument
	d.Error.Code, d.Error.Message = e.Code, e.Message
	body, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("error document: %w", err)
	}
	w.WriteHeader(e.Code.Status())
	if _, err := w.Write(append(body, '\n')); err != nil {
		return fmt.Errorf("send an error: %w", err)
	}
	return nil
}

// longestError bounds what is read of an error's body.
const longestError = 16 << 10

// ReadError reads the Error of a response; ok is false where the response is not
// one of the service's own.
func ReadError(r *http.Response) (e *Error, ok bool) {
	code := Code(r.Header.Get(ErrorHeader))
	if code == "" || r.StatusCode != code.Status() {
		return nil, false
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, longestError))
	var d errorDocument
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	if ok = err == nil && d.Error.Code == code; !ok {
		return nil, false
	}
	e = &Error{Code: code, Message: d.Error.Message}
	if s, err := strconv.ParseUint(r.Header.Get("Retry-After"), 10, 16); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e, true
}

// SentClock is what the node's clocks showed when a push was sent, by which the
// service tells how far the node's clock is off, and re-times what was sampled
// under a wrong one.
type SentClock struct {
	BootID     string // /proc/sys/kernel/random/boot_id
	BoottimeUS int64  // CLOCK_BOOTTIME
	UTCUS      int64  // CLOCK_REALTIME, since 1970
}

// String gives the value of ClockHeader.
func (c SentClock) String() string {
	return fmt.Sprintf("%s %d %d", c.BootID, c.BoottimeUS, c.UTCUS)
}

// longestBootID is that of a UUID's text.
const longestBootID = 36

// ParseSentClock reads the value of ClockHeader.
func ParseSentClock(value string) (SentClock, error) {
	fields := strings.Fields(value)
	if len(fields) != 3 || len(fields[0]) > longestBootID {
		return SentClock{}, errors.New(ClockHeader + ": want a boot id and two numbers of microseconds")
	}
	boottime, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || boottime < 0 || boottime > maxBoottimeUS {
		return SentClock{}, errors.New(ClockHeader + ": boot time out of range")
	}
	utc, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || utc < minUTCUS || utc > maxUTCUS {
		return SentClock{}, errors.New(ClockHeader + ": time out of range")
	}
	return SentClock{BootID: fields[0], BoottimeUS: boottime, UTCUS: utc}, nil
}
