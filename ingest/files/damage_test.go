package files

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// A bit that flips on a disk or on the way damages what is packed behind it, and
// values may come out that nobody wrote. Whatever then differs, the file is named
// with what its values are worth: the checksum behind them did not vouch for them.
func TestDamagedFilesThatGiveOtherValuesAreTold(t *testing.T) {
	t.Parallel()
	log := interruptLog(40)
	readings := " r  b   cs us sy id wa UTC\n"
	for i := range 400 {
		readings += fmt.Sprintf(" %d  0   %d  1  1 98  0 2026-11-30 18:%02d:%02d\n", i%7, i*31, i/60, i%60)
	}
	members := []entry{{"d/interrupts", log}, {"d/vmstat", readings}, {"d/mpstat", mpstatDocument}}
	for name, packed := range map[string]string{
		"gzip":                          gzipped(t, log),
		"gzip, read by line to its end": gzipped(t, readings),
		"gzip, a document with an end":  gzipped(t, mpstatDocument),
		"a compressed archive":          gzipped(t, tarred(t, members...)),
		"a zip archive":                 zipped(t, members...),
		"zstd":                          zstandard(t, log),
		"xz":                            xzed(t, log),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			truth, told := recordsAndWarnings(t, packed)
			if truth == "" || told != "" {
				t.Fatalf("undamaged: warnings %q, records %.100q", told, truth)
			}
			random := rand.New(rand.NewPCG(1, 2))
			differ := 0
			for range 40 {
				b := []byte(packed)
				at := 16 + random.IntN(len(b)-16) // the first bytes tell what it is
				b[at] ^= 1 << random.IntN(8)
				got, told := recordsAndWarnings(t, string(b))
				if got == truth {
					continue
				}
				differ++
				if !strings.Contains(told, "what stands before may be wrong") && !strings.Contains(told, damagedMembers) &&
					!strings.Contains(told, "would vouch for it") && !strings.Contains(told, "cannot be read") && got != "" {
					t.Errorf("byte %d of %d differs: warnings %q", at, len(b), told)
				}
			}
			if differ < 20 {
				t.Errorf("only %d of 40 flips changed what is read", differ)
			}
		})
	}
}

// recordsAndWarnings reads a packed file; "" where nothing of it is read.
func recordsAndWarnings(t *testing.T, packed string) (records, warnings string) {
	t.Helper()
	path := filepath.Join(tree(t, map[string]string{"f": packed}), "f")
	s, err := Scan(t.Context(), []string{path}, Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	told := s.Warnings()
	for _, u := range s.Unknown() { // a member that is not read at all
		told = append(told, u.Name+": "+u.Reason)
	}
	for _, n := range s.Nodes() {
		report, err := s.Read(t.Context(), n.Name, Zones{}, rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, report.Warnings...)
	}
	for _, w := range told {
		if !strings.HasPrefix(w, path) {
			t.Errorf("a warning without its file: %q", w)
		}
	}
	if rec.values() == 0 {
		return "", strings.Join(told, "\n")
	}
	return rec.text(), strings.Join(told, "\n")
}
