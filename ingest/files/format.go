package files

import (
	"context"
	"time"

	"github.com/corewait/corewait/ingest"
)

// Kind names what a file holds; it is printed to people.
type Kind string

// clock says whose clock stamped the times of a file, and so which flag gives
// the zone of times that carry none.
type clock uint8

const (
	clockNone clock = iota // the file carries no times
	clockHost
	clockDB
)

// format is one kind of file: how it is told from its content and how it is read.
type format struct {
	kind  Kind
	clock clock
	// probe looks at the beginning of a file (up to probeSize bytes, cut at any
	// place, already without BOM) and says whether it is of this format.
	probe func(head []byte) (probed, bool)
	// read sends every record of the file to the sink. It returns an error only
	// for what makes the rest unreadable or what the sink returned; a line that
	// cannot be read goes to in.problem and reading goes on.
	read func(ctx context.Context, in *input, to ingest.Sink) error
}

// probeSize is how much of a file's beginning formats are shown.
const probeSize = 64 << 10

// probed is what the beginning of a file tells beside its kind.
type probed struct {
	host     string         // node named by a banner; "" where none is
	zone     *time.Location // zone that the file's times carry; nil where they carry none
	first    time.Time      // first time in the file, read as UTC where it carries no zone; zero unknown
	hasTimes bool           // false for a single snapshot without a time line
	absolute bool           // the times are instants without a zone of their own (epoch): none is needed
	instance string         // instance named by the content; ""
}

// input is one file being read.
type input struct {
	name  string         // path as shown to people; members of archives as "a.tar.gz!dir/file"
	zone  *time.Location // zone to take for times that carry none; never nil
	lines *lineReader
	count int64 // records sent; readers raise it
	bad   *problems
}

// problem notes a line that could not be read: counted, the first few kept.
func (in *input) problem(line int, why string) { in.bad.add(in.name, line, why) }
