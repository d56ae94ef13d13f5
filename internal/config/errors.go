package config

import (
	"fmt"
	"slices"
	"strings"
)

// Mistake is something in a configuration that has to be put right.
type Mistake struct {
	File string
	Line int    // 0: of a key that the file does not have
	Key  string // "agents.tls.cert_file"; empty: of no key
	Why  string // and what to do
}

func (m *Mistake) Error() string {
	place := m.File
	if m.Line > 0 {
		place = fmt.Sprintf("%s:%d", m.File, m.Line)
	}
	if m.Key == "" {
		return place + ": " + m.Why
	}
	return place + ": " + m.Key + ": " + m.Why
}

// Mistakes are all that a file has, in the order of its lines: a line of text
// each.
type Mistakes []*Mistake

func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i := range m {
		lines[i] = m[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each of them.
func (m Mistakes) Unwrap() []error {
	list := make([]error, len(m))
	for i := range m {
		list[i] = m[i]
	}
	return list
}

// orNil sorts them and makes an error of them, if there is any.
func (m Mistakes) orNil() error {
	if len(m) == 0 {
		return nil
	}
	slices.SortStableFunc(m, func(a, b *Mistake) int { return a.Line - b.Line })
	return m
}

// mistake is one of a key's value.
func (c *Config) mistake(key, format string, args ...any) *Mistake {
	m := &Mistake{File: c.file, Key: key, Why: fmt.Sprintf(format, args...)}
	// The line of the key, or of what it is in.
	for at := key; at != "" && m.Line == 0; {
		m.Line = c.lines[at]
		i := strings.LastIndexByte(at, '.')
		at = at[:max(i, 0)]
	}
	return m
}
