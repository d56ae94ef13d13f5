package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Markdown writes a document as Markdown with pipe tables.
func Markdown(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n\n**%s**\n\nVerdict: `%s`\n", markdownText(d.Title), markdownText(d.Headline), d.Verdict)
	for _, s := range d.Sections {
		fmt.Fprintf(b, "\n## %s\n\n", markdownText(s.Title))
		for i, block := range s.Blocks {
			if i > 0 {
				fmt.Fprintln(b)
			}
			markdownBlock(b, block)
		}
	}
	return b.Flush()
}

func markdownBlock(b *bufio.Writer, block Block) {
	switch {
	case block.Table != nil:
		markdownTable(b, block.Table)
	case block.Items != nil:
		for _, i := range block.Items {
			fmt.Fprintf(b, "- %s\n", markdownText(i))
		}
	default:
		fmt.Fprintf(b, "%s\n", markdownText(block.Text))
	}
}

func markdownTable(b *bufio.Writer, t *Table) {
	for _, c := range t.Columns {
		fmt.Fprintf(b, "| %s ", markdownText(c.Name))
	}
	fmt.Fprint(b, "|\n")
	for _, c := range t.Columns {
		if c.Align == Right {
			fmt.Fprint(b, "|---:")
		} else {
			fmt.Fprint(b, "|---")
		}
	}
	fmt.Fprint(b, "|\n")
	for _, r := range t.Rows {
		for _, c := range r {
			fmt.Fprintf(b, "| %s ", markdownText(c))
		}
		fmt.Fprint(b, "|\n")
	}
	if t.Note != "" {
		fmt.Fprintf(b, "\n%s\n", markdownText(t.Note))
	}
}

// markdownText keeps what comes from input from being read as markup.
func markdownText(s string) string {
	var b strings.Builder
	for _, r := range Clean(s) {
		switch r {
		case '\\', '`', '*', '_', '[', ']', '<', '>', '|', '#', '&':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
