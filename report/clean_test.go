package report

import "testing"

func TestCleanReplacesWhatBreaksLinesOrControlsATerminal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"plain text stands":                   {"eth0 코어", "eth0 코어"},
		"line ends and tabs are blanks":       {"a\nb\tc", "a b c"},
		"Unicode's separators are blanks":     {"a\u2028b\u2029c", "a b c"},
		"escape sequences are cut":            {"\x1b[31m", "?[31m"},
		"marks that turn text are replaced":   {"a\u202eb", "a?b"},
		"bytes that are no text are replaced": {"a\xffb", "a?b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Clean(tt.text); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
