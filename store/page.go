package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Errors that callers decide on.
var (
	// ErrNotFound says that there is no row of that key.
	ErrNotFound = errors.New("not found")
	// ErrCursor says that a cursor is not one that the list gave.
	ErrCursor = errors.New("cursor is not one of this list")
)

// Sizes of pages.
const (
	usualPage  = 100
	mostInPage = 1_000
)

// Page says which part of a list is wanted. A list is read from its begin to its
// end by giving the cursor of one page with the next: every row that was there at
// the begin comes once, whatever is inserted meanwhile.
type Page struct {
	After Cursor
	Limit int // rows at most; 0: 100; bounded by 1,000
}

func (p Page) limit() int {
	if p.Limit <= 0 {
		return usualPage
	}
	return min(p.Limit, mostInPage)
}

// Cursor is the place in a list after which a page begins; "" is the list's begin
// or, given with a page, its end. It means nothing outside the list that gave it.
type Cursor string

// newCursor gives the place after the row of that key.
func newCursor(list string, key ...any) Cursor {
	text, err := json.Marshal(append([]any{list}, key...))
	if err != nil {
		return "" // keys are numbers, texts, times and UUIDs
	}
	return Cursor(base64.RawURLEncoding.EncodeToString(text))
}

// longestCursor bounds what is decoded of a cursor, which comes from outside.
const longestCursor = 4_096

// read gives the key, and whether there is one: not at the list's begin.
func (c Cursor) read(list string, key ...any) (ok bool, err error) {
	if c == "" {
		return false, nil
	}
	var fields []json.RawMessage
	text, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(c) > longestCursor || json.Unmarshal(text, &fields) != nil || len(fields) != len(key)+1 {
		return false, fmt.Errorf("%w of %s", ErrCursor, list)
	}
	var of string
	for i, into := range append([]any{&of}, key...) {
		text, _ := into.(*string)
		if json.Unmarshal(fields[i], into) != nil || text != nil && strings.IndexByte(*text, 0) >= 0 { // Postgres takes none
			return false, fmt.Errorf("%w of %s", ErrCursor, list)
		}
	}
	if of != list {
		return false, fmt.Errorf("%w of %s", ErrCursor, list)
	}
	return true, nil
}

// All reads a list to its end, page by page: for lists that are short by nature.
func All[T any](list func(Page) ([]T, Cursor, error)) ([]T, error) {
	var all []T
	for after := Cursor(""); ; {
		page, next, err := list(Page{After: after})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if after = next; after == "" {
			return all, nil
		}
	}
}

// query is a statement whose conditions depend on what is asked for.
type query struct {
	sql  strings.Builder
	args []any
}

// add adds text in which each ? is the next of the arguments.
func (q *query) add(text string, args ...any) {
	for _, a := range args {
		before, after, _ := strings.Cut(text, "?")
		q.args = append(q.args, a)
		q.sql.WriteString(before + "$" + strconv.Itoa(len(q.args)))
		text = after
	}
	q.sql.WriteString(text + " ")
}

// collectPage reads the rows of a page, for which one more than the limit was
// asked: that one tells whether there is a next page.
func collectPage[T any](rows pgx.Rows, limit int, scan pgx.RowToFunc[T], cursor func(*T) Cursor) ([]T, Cursor, error) {
	list, err := pgx.CollectRows(rows, scan)
	if err != nil || len(list) <= limit {
		return list, "", err
	}
	return list[:limit], cursor(&list[limit-1]), nil
}

// oneRow makes ErrNotFound of a statement that found no row.
func oneRow(tag pgconn.CommandTag, err error) error {
	if err == nil && tag.RowsAffected() == 0 {
		return ErrNotFound
	}
	return err
}

// notFound makes ErrNotFound of a query that found no row.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// utcOrZero gives the zero time for NULL, else the instant in UTC.
func utcOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// openSide gives an instant, infinite where it is zero: the open side of a window.
func openSide(t time.Time, side pgtype.InfinityModifier) pgtype.Timestamptz {
	if t.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: side, Valid: true}
	}
	return pgtype.Timestamptz{Time: t, Valid: true}
}
