package report

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

//go:embed templates/analysis.html templates/style.css
var templates embed.FS

// Illustrated is a finding and the series that it was made from, which its
// figures are drawn from; without series the figures that need them are left out.
type Illustrated struct {
	Finding *domain.Finding
	Series  *series.Series
}

// HTML writes one self-contained page with the findings one after another: no
// script, no request to anywhere, figures as SVG and PNG within it. The same
// findings give the same bytes.
func HTML(w io.Writer, findings []Illustrated) error {
	page, err := newPage(findings)
	if err != nil {
		return err
	}
	t, err := template.New("analysis.html").Funcs(template.FuncMap{"clean": Clean, "text": unbroken}).ParseFS(templates, "templates/analysis.html")
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	b := bufio.NewWriter(w)
	if err := t.Execute(b, page); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return b.Flush()
}

// cpuRange is a range of a CPU list, with the comma that follows it.
var cpuRange = regexp.MustCompile(`\b(\d{1,4}-\d{1,4})\b(,?)`)

// unbroken cleans and escapes text, and lets lines break between the ranges of a
// CPU list instead of within them.
func unbroken(s string) template.HTML {
	return template.HTML(cpuRange.ReplaceAllStringFunc(template.HTMLEscapeString(Clean(s)), func(m string) string { //nolint:gosec // escaped just here
		number, comma := strings.CutSuffix(m, ",")
		m = `<span class="range">` + number + "</span>"
		if comma {
			m += ",<wbr>"
		}
		return m
	}))
}

// htmlPage is what the template shows.
type htmlPage struct {
	Title    string
	Style    template.CSS
	Findings []htmlFinding
}

// htmlFinding is one finding on the page.
type htmlFinding struct {
	ID       string // keeps the anchors of one page apart
	Title    string
	Headline string
	Verdict  htmlCause
	Cards    []htmlCard
	Sections []htmlSection
}

// htmlCard answers one of the questions that a reader comes with.
type htmlCard struct {
	Question, Answer string
	Notes            []string
}

// htmlSection is a titled part of a finding.
type htmlSection struct {
	ID, Title string
	Blocks    []htmlBlock
}

// htmlBlock is a block of a document, or a figure, or causes.
type htmlBlock struct {
	Block
	Figure  template.HTML
	Caption string
	Causes  []htmlCause
	Words   []htmlWord
}

// htmlCause is a verdict in words, with a symbol beside its colour.
type htmlCause struct {
	Class, Symbol, Name, Verdict, Share string
	Evidence                            []string
}

func newPage(findings []Illustrated) (*htmlPage, error) {
	if len(findings) == 0 {
		return nil, errors.New("write the page: no findings")
	}
	style, err := templates.ReadFile("templates/style.css")
	if err != nil {
		return nil, fmt.Errorf("read the page's style: %w", err)
	}
	p := &htmlPage{Title: "corewait: " + title(findings[0].Finding), Style: template.CSS(style)} //nolint:gosec // our own file
	if len(findings) > 1 {
		p.Title = fmt.Sprintf("corewait: %d findings", len(findings))
	}
	for i, d := range findings {
		f, err := newHTMLFinding(d.Finding, d.Series, "f"+strconv.Itoa(i+1))
		if err != nil {
			return nil, err
		}
		p.Findings = append(p.Findings, *f)
	}
	return p, nil
}
