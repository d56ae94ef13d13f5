package files

import "fmt"

// keptProblems is how many unreadable lines of a file are kept in words; the
// rest are counted.
const keptProblems = 5

// problems counts what could not be read in one file.
type problems struct {
	count int64
	first []string // "file:line: why", the first keptProblems
}

func (p *problems) add(name string, line int, why string) {
	p.count++
	if len(p.first) < keptProblems {
		p.first = append(p.first, fmt.Sprintf("%s:%d: %s", name, line, why))
	}
}
