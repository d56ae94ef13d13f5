package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/corewait/corewait/domain"
)

// namedFile is a file that a flag names.
type namedFile struct{ flag, name string }

// written lists the files that reports go to.
func (o *output) written() []namedFile {
	var out []namedFile
	for _, f := range []namedFile{{"--markdown", o.markdown}, {"--html", o.html}} {
		if f.name != "" && f.name != "-" {
			out = append(out, f)
		}
	}
	return out
}

// spare refuses to write two reports to one file, or over one of the inputs.
func (o *output) spare(inputs []string) error {
	files := o.written()
	if len(files) == 2 && sameFile(files[0].name, files[1].name) {
		return fmt.Errorf("%w: --markdown and --html both write to %s: name two files", errFlags, files[0].name)
	}
	for _, f := range files {
		for _, input := range inputs {
			if sameFile(f.name, input) {
				return fmt.Errorf("%w: %s %s would overwrite the input %s: name another file", errFlags, f.flag, f.name, input)
			}
		}
	}
	return nil
}

// spareRead refuses to write over a file that was read from a folder.
func (o *output) spareRead(findings []*domain.Finding) error {
	if len(o.written()) == 0 {
		return nil
	}
	var inputs []string
	for _, f := range findings {
		for _, in := range f.Inputs {
			inputs = append(inputs, fileOf(in.Path))
		}
	}
	return o.spare(inputs)
}

// fileOf gives the file that an input is in: a member of an archive is named
// behind the archive's own path.
func fileOf(input string) string {
	for path := input; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return path
		case err == nil || path == filepath.Dir(path):
			return input
		}
	}
}

// sameFile says whether two names are of one file, which need not exist yet.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	absoluteA, errA := filepath.Abs(a)
	absoluteB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && absoluteA == absoluteB
}
