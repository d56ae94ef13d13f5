package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Source is one file of a known kind.
type Source struct {
	Name     string // as shown: a path, or "a.tar.gz!dir/file"
	Kind     Kind
	Host     string         // that the content names; "" where it names none
	Instance string         // Oracle instance that the content names; ""
	Zone     *time.Location // that its times carry; nil where they carry none
	// FirstTime is the first time in the file, read as UTC where it carries no
	// zone; zero where the beginning of the file tells none.
	FirstTime time.Time
	// Nodes are the nodes that the file belongs to: several where a file of
	// Oracle lies above the folders of several nodes; none where it cannot be placed.
	Nodes []string
}

// source is a Source and where to find it again.
type source struct {
	Source
	format  *format
	probed  probed
	file    int // index of the file on disk in Set.files
	ordinal int // of the content within that file
	base    string
	place   []string // folders and archives that hold it
	head    [sha256.Size]byte
	whole   bool              // head is the hash of all of it
	content [sha256.Size]byte // hash of all of it, where another begins alike; else zero
}

// Set is what a number of paths hold: the outcome of the first pass.
type Set struct {
	limits   Limits
	files    []diskFile
	sources  []*source // by name
	nodes    []Node
	unknown  []Unknown
	warnings []string
}

// Scan looks at the files and folders named by paths and tells what they are.
// It reads the beginning of each file, and archives from end to end. It fails
// where a path does not exist, a limit is exceeded or ctx ends; a file that is
// of no known kind or cannot be unpacked is in Unknown. progress may be nil.
func Scan(ctx context.Context, paths []string, limits Limits, progress Progress) (*Set, error) {
	return scan(ctx, paths, limits, knownFormats(), progress) //nolint:contextcheck // probes look at bytes in memory
}

func scan(ctx context.Context, paths []string, limits Limits, formats []format, progress Progress) (*Set, error) {
	limits = limits.orDefaults()
	found, unknown, err := walk(ctx, paths, limits)
	if err != nil {
		return nil, err
	}
	s := &Set{limits: limits, files: found, unknown: unknown}
	tracker := newTracker(progress, StageScan, found)
	for i := range s.files {
		tracker.expect(i)
	}
	for i := range s.files {
		if err := s.scanFile(ctx, i, formats, tracker.in(i)); err != nil {
			return nil, err
		}
		tracker.finished(i)
	}
	slices.SortStableFunc(s.sources, func(a, b *source) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(s.unknown, func(a, b Unknown) int { return strings.Compare(a.Name, b.Name) })
	s.place()
	if err := s.hashAlike(ctx, progress); err != nil {
		return nil, err
	}
	return s, nil
}

// Sources gives the files of known kinds, by name.
func (s *Set) Sources() []Source {
	all := make([]Source, 0, len(s.sources))
	for _, src := range s.sources {
		all = append(all, src.Source)
	}
	return all
}

// Nodes gives the nodes that the sources make up, by name.
func (s *Set) Nodes() []Node { return slices.Clone(s.nodes) }

// Unknown gives what is not read, by name, with the reason.
func (s *Set) Unknown() []Unknown { return slices.Clone(s.unknown) }

// Warnings tells what about the set as a whole a user should know, such as
// files that cannot be placed.
func (s *Set) Warnings() []string { return slices.Clone(s.warnings) }

func (s *Set) warn(name, why string) { s.warnings = append(s.warnings, name+": "+why) }

// silent tells nobody what was told in the first pass.
func silent(string, string) {}

func (s *Set) refuse(name, reason string) {
	s.unknown = append(s.unknown, Unknown{Name: name, Reason: reason})
}

// scanFile recognises the contents of one file on disk.
func (s *Set) scanFile(ctx context.Context, file int, formats []format, onRead func(int64)) error {
	give := func(c content) error {
		head, err := c.r.Peek(probeSize)
		if fatal(err) {
			return err
		}
		format, found := recognise(formats, bytes.TrimPrefix(head, []byte(byteOrderMark)))
		if format == nil {
			s.refuse(c.name, unknownReason(head, err))
			return nil
		}
		s.sources = append(s.sources, &source{
			Source: Source{
				Name: c.name, Kind: format.kind, Host: found.host, Instance: found.instance,
				Zone: found.zone, FirstTime: found.first,
			},
			format: format, probed: found, file: file, ordinal: c.ordinal, base: c.base, place: c.place,
			head: sha256.Sum256(head), whole: errors.Is(err, io.EOF),
		})
		return nil
	}
	return s.unpack(ctx, file, onRead, give, s.refuse, s.warn)
}

const byteOrderMark = "\xef\xbb\xbf"

// unknownReason says why a content that begins with head is of no known kind;
// err is what ended the reading of head.
func unknownReason(head []byte, err error) string {
	for _, p := range unreadPackings {
		if bytes.HasPrefix(head, []byte(p.magic)) {
			return p.name + ": not read, unpack it first"
		}
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "cannot be read: " + err.Error()
	case len(head) == 0:
		return "empty"
	case len(bytes.TrimSpace(head)) == 0:
		return "begins with nothing but blanks"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16 text: not read, save it as UTF-8"
	case bytes.IndexByte(head, 0) >= 0:
		return "binary, of no known kind"
	default:
		return "text of no known kind"
	}
}

// unpack opens one file on disk and gives its contents. What cannot be opened
// or unpacked is refused by name; warn is told of damage in what was given.
func (s *Set) unpack(ctx context.Context, file int, onRead func(int64), give func(content) error, refuse, warn func(name, why string)) error {
	d := s.files[file]
	f, err := os.Open(d.path)
	if err != nil {
		refuse(d.name, "cannot be opened: "+bare(err).Error())
		return nil
	}
	defer f.Close()
	in := &intake{ctx: ctx, name: d.name, limits: s.limits, onRead: onRead}
	u := &unpacker{in: in, give: give, refuse: refuse, warn: warn}
	p := &packedFile{in: in, f: f, room: -1}
	return u.open(packed{
		name: d.name, base: path.Base(d.key), place: strings.Split(path.Dir(d.key), "/"),
		r: p, file: p, size: d.size,
	})
}

// errEnough ends a pass over a file on disk once all that is wanted was given.
var errEnough = errors.New("enough")

// pass gives the contents of one file on disk that are wanted, in the order in
// which they are stored. Those that are no longer there are left in wanted.
func (s *Set) pass(ctx context.Context, file int, wanted map[int]*source, onRead func(int64), give func(*source, content) error) error {
	err := s.unpack(ctx, file, onRead, func(c content) error {
		src, ok := wanted[c.ordinal]
		if !ok || src.Name != c.name {
			return nil
		}
		delete(wanted, c.ordinal)
		if err := give(src, c); err != nil {
			return err
		}
		if len(wanted) == 0 {
			return errEnough
		}
		return nil
	}, silent, silent)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// hashAlike hashes the whole content of sources that begin alike, so that
// copies, packed or not, are read once.
func (s *Set) hashAlike(ctx context.Context, progress Progress) error {
	alike := map[[sha256.Size]byte][]*source{}
	for _, src := range s.sources {
		alike[src.head] = append(alike[src.head], src)
	}
	wanted := map[int]map[int]*source{} // by file on disk, then ordinal
	tracker := newTracker(progress, StageCompare, s.files)
	for _, group := range alike {
		for _, src := range group {
			switch {
			case len(group) == 1:
			case src.whole:
				src.content = src.head
			default:
				if wanted[src.file] == nil {
					wanted[src.file] = map[int]*source{}
				}
				wanted[src.file][src.ordinal] = src
				tracker.expect(src.file)
			}
		}
	}
	for file, sources := range wanted {
		if err := s.pass(ctx, file, sources, tracker.in(file), hashContent); err != nil {
			return err
		}
	}
	return nil
}

// hashContent hashes one source. One that breaks off stays without hash, and
// so is nothing's copy.
func hashContent(src *source, c content) error {
	h := sha256.New()
	_, err := io.Copy(h, c.r)
	if fatal(err) {
		return fmt.Errorf("%s: %w", src.Name, err)
	}
	if err == nil {
		src.content = [sha256.Size]byte(h.Sum(nil))
	}
	return nil
}

// copyOf says whether two sources are the same file twice. What carries no
// times may say something by its name, as /proc/net/bonding/bond0 does.
func (s *source) copyOf(o *source) bool {
	if s.content == [sha256.Size]byte{} || s.content != o.content || s.Kind != o.Kind {
		return false
	}
	return s.probed.hasTimes || s.base == o.base
}
