package sim

import (
	"fmt"
	"strings"

	"github.com/corewait/corewait/domain"
)

// Table tallies outcomes by kind of scenario, in the order first met.
type Table struct {
	kinds []string
	rows  map[string]*row
}

type row struct {
	null                                              bool
	scenarios, right, blamed, undetermined, otherWise int
}

// Add tallies one outcome.
func (t *Table) Add(o *Outcome) {
	if t.rows == nil {
		t.rows = map[string]*row{}
	}
	r := t.rows[o.Kind]
	if r == nil {
		r = &row{null: o.Truth.Null}
		t.rows[o.Kind] = r
		t.kinds = append(t.kinds, o.Kind)
	}
	r.add(o)
}

func (r *row) add(o *Outcome) {
	r.scenarios++
	if o.Right() {
		r.right++
	}
	switch {
	case o.Blamed():
		r.blamed++
	case o.Finding.Verdict == domain.Undetermined || o.Finding.Verdict == domain.InsufficientData:
		r.undetermined++
	default:
		r.otherWise++
	}
}

// Markdown gives the table: innocent kinds first, sums last.
func (t *Table) Markdown() string {
	var b strings.Builder
	b.WriteString("| scenario | interrupts | n | right | blamed interrupts | undetermined or insufficient | another cause |\n|---|---|---:|---:|---:|---:|---:|\n")
	for _, null := range []bool{true, false} {
		sum := row{null: null}
		for _, k := range t.kinds {
			r := t.rows[k]
			if r.null != null {
				continue
			}
			writeRow(&b, k, r)
			sum.scenarios += r.scenarios
			sum.right += r.right
			sum.blamed += r.blamed
			sum.undetermined += r.undetermined
			sum.otherWise += r.otherWise
		}
		writeRow(&b, "**all**", &sum)
	}
	return b.String()
}

func writeRow(b *strings.Builder, kind string, r *row) {
	what := "guilty"
	if r.null {
		what = "innocent"
	}
	fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d |\n", kind, what, r.scenarios, r.right, r.blamed, r.undetermined, r.otherWise)
}
