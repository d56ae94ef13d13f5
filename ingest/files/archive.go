package files

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/klauspost/compress/flate"
)

// content is the unpacked content of one file: a file on disk or a member of
// an archive. It is valid until the function that it was given to returns.
type content struct {
	name    string   // as shown: "a.tar.gz!dir/file"
	base    string   // its own name, without what holds it
	place   []string // folders and archives that hold it, outermost first; an archive ends in archiveMark
	ordinal int      // among all contents of the file on disk: the same in every pass
	packed  bool     // reading it unpacks something
	r       *bufio.Reader
}

// open gives the content to read. What has to be unpacked is unpacked ahead.
func (c content) open() (io.Reader, func(), error) {
	if !c.packed {
		return c.r, func() {}, nil
	}
	ahead := newAheadReader(c.r)
	return ahead, ahead.Close, nil
}

// archiveMark tells an archive from a folder in a place.
const archiveMark = "!"

// unpacker gives the contents of one file on disk, layer by layer, in the
// order in which they are stored.
type unpacker struct {
	in      *intake
	give    func(content) error
	refuse  func(name, reason string) // told of what cannot be unpacked
	warn    func(name, why string)    // told of what is wrong with contents that were given
	ordinal int
	buffers []*bufio.Reader // one per layer that is open
}

// nest says how deep within a file on disk a layer lies.
type nest struct {
	layers       int // of any packing
	archives     int
	compressions int
}

// packed is one layer to be unpacked.
type packed struct {
	name  string   // as shown
	base  string   // its own name, without what holds it
	place []string // as in content
	r     io.Reader
	file  *packedFile // the file on disk where this layer is all of it; else nil
	size  int64       // of that file
	nest  nest
	// compressed: it comes out of a decompressor, of its own or of what holds it.
	compressed bool
}

// buffer gives the buffer of a layer, set to read r. Layers lie strictly in
// one another, so that one buffer for each depth is enough.
func (u *unpacker) buffer(layer int, r io.Reader) *bufio.Reader {
	if layer == len(u.buffers) {
		u.buffers = append(u.buffers, bufio.NewReaderSize(r, probeSize))
	}
	u.buffers[layer].Reset(r)
	return u.buffers[layer]
}

// open unpacks a layer. It returns an error only where that ends the reading
// of the file on disk: a limit, a cancelled context, or what give returned.
// What is broken or cannot be unpacked is refused by name.
func (u *unpacker) open(p packed) error {
	r := u.buffer(p.nest.layers, p.r)
	head, err := r.Peek(sniffSize)
	if fatal(err) {
		return err
	}
	p.nest.layers++
	kind := packingOf(head)
	if kind == packedTar || kind == packedZip {
		return u.archive(p, kind, r)
	}
	if kind != packedNot {
		return u.compressed(p, kind, r)
	}
	c := content{name: p.name, base: p.base, place: p.place, ordinal: u.ordinal, packed: p.compressed, r: r}
	u.ordinal++
	return u.give(c)
}

func (u *unpacker) archive(p packed, kind packing, r *bufio.Reader) error {
	p.nest.archives++
	if p.nest.archives > u.in.limits.MaxNesting {
		u.refuse(p.name, fmt.Sprintf("an archive more than %d deep in archives: not read", u.in.limits.MaxNesting))
		return nil
	}
	if kind == packedTar {
		return u.tar(p, r)
	}
	return u.zip(p, r)
}

func (u *unpacker) compressed(p packed, kind packing, r *bufio.Reader) error {
	depth := p.nest.compressions
	p.nest.compressions++
	if p.nest.compressions > u.in.limits.MaxNesting {
		u.refuse(p.name, fmt.Sprintf("compressed more than %d times over: not read", u.in.limits.MaxNesting))
		return nil
	}
	z, closing, err := decompressor(kind, r, depth)
	if err != nil {
		return u.broken(p.name, "cannot be unpacked", err)
	}
	defer closing()
	p.r, p.file, p.compressed = &unpackedStream{in: u.in, r: z}, nil, true
	return u.open(p)
}

// broken names what cannot be unpacked further, unless the error is fatal.
func (u *unpacker) broken(name, what string, err error) error {
	if fatal(err) {
		return err
	}
	u.refuse(name, what+": "+err.Error())
	return nil
}

func (u *unpacker) tar(p packed, r *bufio.Reader) error {
	t := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return u.drain(p, r)
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // names are only names
			return u.tarBroken(p, n, err)
		}
		if err := u.in.member(); err != nil {
			return err
		}
		m := p.member(h.Name)
		switch {
		case h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink:
			u.refuse(m.name, "link in an archive: not followed")
			continue
		case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeCont:
			u.refuse(m.name, "not a regular file")
			continue
		case sparse(h):
			u.refuse(m.name, "sparse member: not read; pack it without -S")
			continue
		}
		m.r = t
		if err := u.open(m); err != nil {
			return err
		}
	}
}

// drain reads what is behind the members of a tar: only at its end does a
// compression around it notice some kinds of damage.
func (u *unpacker) drain(p packed, r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		if !fatal(err) {
			u.warn(p.name, damagedMembers)
		}
		return u.broken(p.name, damagedMembers, err)
	}
	return nil
}

// damagedMembers is said of an archive whose damage may lie within what its
// members hold.
const damagedMembers = "damaged, what its members say may be wrong"

// tarBroken names a tar that breaks off after n members. In a compressed one the
// damage may lie before the place where it shows.
func (u *unpacker) tarBroken(p packed, n int, err error) error {
	what := fmt.Sprintf("breaks off after %d members", n)
	if n > 0 && !fatal(err) {
		told := what + ": " + err.Error()
		if p.compressed {
			told += ": " + damagedMembers
		}
		u.warn(p.name, told)
	}
	return u.broken(p.name, what, err)
}

// sparse says whether a member has holes. They are not read: a kilobyte of
// archive can claim any size of them.
func sparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return false
}

const (
	// maxInnerZip bounds a zip archive that lies in something else: its
	// directory is at its end, so it is held in memory. One deeper may have half.
	maxInnerZip = 64 << 20
	// maxZipDirectory bounds the directory of a zip archive: 100,000 members
	// with names of 100 bytes take 15 MiB.
	maxZipDirectory = 32 << 20
)

func (u *unpacker) zip(p packed, r *bufio.Reader) error {
	z, err := u.zipDirectory(p, r)
	if err != nil {
		return u.broken(p.name, "cannot be unpacked", err)
	}
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	for _, f := range z.File {
		if err := u.in.member(); err != nil {
			return err
		}
		// Archives made on Windows may hold its separator.
		m := p.member(strings.ReplaceAll(f.Name, `\`, "/"))
		switch mode := f.Mode(); {
		case mode.IsDir() || strings.HasSuffix(f.Name, `\`):
			continue
		case mode&fs.ModeSymlink != 0:
			u.refuse(m.name, "link in an archive: not followed")
			continue
		case !mode.IsRegular():
			u.refuse(m.name, "not a regular file")
			continue
		case f.Flags&1 != 0:
			u.refuse(m.name, "encrypted: not read")
			continue
		}
		if err := u.zipMember(m, f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipMember(m packed, f *zip.File) error {
	content, err := f.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		u.refuse(m.name, fmt.Sprintf("zip method %d is not read", f.Method))
		return nil
	}
	if err != nil {
		return u.broken(m.name, "cannot be unpacked", err)
	}
	defer content.Close()
	m.r, m.compressed = &unpackedStream{in: u.in, r: content}, true
	return u.open(m)
}

// zipDirectory reads the directory of a zip archive.
func (u *unpacker) zipDirectory(p packed, r *bufio.Reader) (*zip.Reader, error) {
	file, size := p.file, p.size
	if file != nil {
		file.room = maxZipDirectory
		defer func() { file.room = -1 }()
		return insecure(zip.NewReader(file, size))
	}
	bound := int64(maxInnerZip >> (p.nest.archives - 1))
	all, err := io.ReadAll(io.LimitReader(r, bound+1))
	if err != nil {
		return nil, err
	}
	if int64(len(all)) > bound {
		return nil, fmt.Errorf("a zip archive of more than %s within another file", bytesInWords(bound))
	}
	return insecure(zip.NewReader(bytes.NewReader(all), int64(len(all))))
}

// insecure lets pass what only warns of names, which are never used as paths.
func insecure(z *zip.Reader, err error) (*zip.Reader, error) {
	if errors.Is(err, zip.ErrInsecurePath) {
		err = nil
	}
	return z, err
}

// member gives the layer of a member of the archive p. Whatever its name says,
// its place is within the archive.
func (p *packed) member(name string) packed {
	within := strings.Split(path.Clean("/" + shown(name))[1:], "/")
	last := len(within) - 1
	place := make([]string, 0, len(p.place)+len(within))
	place = append(append(append(place, p.place...), p.base+archiveMark), within[:last]...)
	return packed{name: p.name + "!" + shown(path.Clean(name)), base: within[last], place: place, nest: p.nest, compressed: p.compressed}
}
