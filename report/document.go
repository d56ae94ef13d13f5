// Package report turns findings into documents for people. It owns one document
// model and its renderings (terminal, Markdown; JSON is the finding itself), and
// it alone aggregates numbers for people: the command line and pages show what
// it computed.
package report

// Document is a report before it is rendered: a headline and sections.
type Document struct {
	Title    string
	Headline string
	Verdict  string
	Sections []Section
}

// Section is a titled part of a document.
type Section struct {
	Title  string
	Blocks []Block
}

// Block is a paragraph, a list or a table; exactly one of its parts is set.
type Block struct {
	Text  string
	Items []string
	Table *Table
}

// Align says to which side a column's cells are set.
type Align uint8

// Alignments.
const (
	Left Align = iota
	Right
)

// Column is a table column's heading and alignment.
type Column struct {
	Name  string
	Align Align
}

// Table is rows of cells. Marks name rows that need attention.
type Table struct {
	Columns []Column
	Rows    [][]string
	Marks   map[int]Mark
	Note    string
}

// Mark says how a row stands out; every mark is also told in words, so that
// nothing hangs on colour.
type Mark uint8

// Marks.
const (
	Plain Mark = iota
	Good
	Bad
	Dim
)
