package files

import (
	"cmp"
	"fmt"
)

// Limits bound what is read. A field that is zero takes the default.
type Limits struct {
	// MaxDecompressed is how many bytes one file on disk may unpack to, the
	// output of every layer of packing counted. Default 64 GiB.
	MaxDecompressed int64
	// MaxMembers is how many members the archives within one file on disk may
	// have. Default 100,000.
	MaxMembers int
	// MaxFiles is how many files on disk are looked at. Default 100,000.
	MaxFiles int
	// MaxNesting is how many archives may lie within one another, and how many
	// compressions over one another. Default 4.
	MaxNesting int
}

// DefaultLimits are the limits that a zero Limits stands for.
func DefaultLimits() Limits {
	return Limits{MaxDecompressed: 64 << 30, MaxMembers: 100_000, MaxFiles: 100_000, MaxNesting: 4}
}

func (l Limits) orDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		MaxDecompressed: cmp.Or(l.MaxDecompressed, d.MaxDecompressed),
		MaxMembers:      cmp.Or(l.MaxMembers, d.MaxMembers),
		MaxFiles:        cmp.Or(l.MaxFiles, d.MaxFiles),
		MaxNesting:      cmp.Or(l.MaxNesting, d.MaxNesting),
	}
}

// LimitError says that a file exceeds one of Limits. It ends the reading: a
// part of such a file would pass for the whole.
type LimitError struct {
	File  string // as shown to people
	Limit string // what was exceeded, in words
}

// Error gives the file, the limit and what to do.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: %s: leave it out, or unpack it and give the files that matter", e.File, e.Limit)
}

// bytesInWords prints a size as people write limits: "64 GiB", "1.5 MiB".
func bytesInWords(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
