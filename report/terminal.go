package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// TerminalOptions say how a terminal is written to.
type TerminalOptions struct {
	Colour bool
	Width  int // columns; under 60 counts as 60
}

const narrowest = 60

// ANSI sequences; the default foreground stays, so that both themes work.
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

// Terminal writes a document for reading in a terminal.
func Terminal(w io.Writer, d *Document, o TerminalOptions) error {
	t := &terminal{b: bufio.NewWriter(w), o: o}
	t.o.Width = max(o.Width, narrowest)
	t.line(t.paint(bold, Clean(d.Title)))
	t.line("")
	t.paragraph(Clean(d.Headline), "", bold)
	t.line("verdict: " + t.paint(bold, d.Verdict))
	for _, s := range d.Sections {
		t.line("")
		t.line(t.paint(bold, strings.ToUpper(Clean(s.Title))))
		for i, b := range s.Blocks {
			if i > 0 && (b.Table != nil || s.Blocks[i-1].Table != nil) {
				t.line("")
			}
			t.block(b)
		}
	}
	return t.b.Flush()
}

type terminal struct {
	b *bufio.Writer
	o TerminalOptions
}

func (t *terminal) line(s string) {
	fmt.Fprintln(t.b, strings.TrimRight(s, " ")) // bufio keeps an error for Flush
}

func (t *terminal) paint(style, s string) string {
	if !t.o.Colour || s == "" {
		return s
	}
	return style + s + reset
}

func (t *terminal) block(b Block) {
	switch {
	case b.Table != nil:
		t.table(b.Table)
	case b.Items != nil:
		for _, i := range b.Items {
			t.paragraph(Clean(i), "- ", "")
		}
	default:
		t.paragraph(Clean(b.Text), "", "")
	}
}

// paragraph wraps text; the lines after the first are indented below bullet.
func (t *terminal) paragraph(text, bullet, style string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(bullet))
	for i, l := range wrap(text, t.o.Width-len(indent)) {
		if i == 0 {
			t.line(bullet + t.paint(style, l))
		} else {
			t.line(indent + t.paint(style, l))
		}
	}
}

// table writes columns as wide as their cells need; the last column wraps into
// what is left of the line.
func (t *terminal) table(tb *Table) {
	widths := make([]int, len(tb.Columns))
	for i, c := range tb.Columns {
		widths[i] = utf8.RuneCountInString(c.Name)
	}
	for _, r := range tb.Rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(Clean(c)))
		}
	}
	left := t.o.Width
	for _, w := range widths[:len(widths)-1] {
		left -= w + 2
	}
	last := len(widths) - 1
	stacked := left < 24 && widths[last] > left
	if stacked {
		left = t.o.Width - 4
	}
	widths[last] = min(widths[last], left)
	names := make([]string, len(tb.Columns))
	for i, c := range tb.Columns {
		names[i] = c.Name
	}
	t.row(tb, names, widths, stacked, dim)
	for i, r := range tb.Rows {
		t.row(tb, r, widths, stacked, markStyle(tb.Marks[i]))
	}
	if tb.Note != "" {
		t.paragraph(Clean(tb.Note), "", dim)
	}
}

func markStyle(m Mark) string {
	switch m {
	case Good:
		return green
	case Bad:
		return red
	case Dim:
		return dim
	case Plain:
	}
	return ""
}

// row writes one row; the last cell continues on lines of its own below its
// column, or indented below the row where the line has no room for it.
func (t *terminal) row(tb *Table, cells []string, widths []int, stacked bool, style string) {
	var b strings.Builder
	last := len(cells) - 1
	indent := 0
	for i, c := range cells[:last] {
		b.WriteString(pad(Clean(c), widths[i], tb.Columns[i].Align))
		b.WriteString("  ")
		indent += widths[i] + 2
	}
	lines := wrap(Clean(cells[last]), widths[last])
	if stacked {
		t.line(t.paint(style, strings.TrimRight(b.String(), " ")))
		for _, l := range lines {
			t.line("    " + l)
		}
		return
	}
	for i, l := range lines {
		if i == 0 {
			t.line(t.paint(style, strings.TrimRight(b.String()+pad(l, widths[last], tb.Columns[last].Align), " ")))
		} else {
			t.line(t.paint(style, strings.Repeat(" ", indent)+l))
		}
	}
}

func pad(s string, width int, a Align) string {
	n := width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s
	}
	if a == Right {
		return strings.Repeat(" ", n) + s
	}
	return s + strings.Repeat(" ", n)
}

// wrap breaks text at blanks into lines of at most width; longer words are cut,
// after a comma where there is one.
func wrap(text string, width int) []string {
	width = max(width, 1)
	lines := []string{}
	line := ""
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			runes, cut := []rune(word), width
			for i := width; i > 0; i-- {
				if runes[i-1] == ',' {
					cut = i
					break
				}
			}
			lines, word = append(lines, string(runes[:cut])), string(runes[cut:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
