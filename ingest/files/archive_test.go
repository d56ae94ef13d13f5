package files

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// written gives what a writer made of content.
func written(t testing.TB, content string, open func(io.Writer) (io.WriteCloser, error)) string {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(t testing.TB, content string) string {
	t.Helper()
	return written(t, content, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
}

func zstandard(t testing.TB, content string) string {
	t.Helper()
	return written(t, content, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
}

func xzed(t testing.TB, content string) string {
	t.Helper()
	return written(t, content, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) })
}

// entry is a member of an archive to be made.
type entry struct{ name, content string }

func tarred(t testing.TB, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Mode: 0o600, Size: int64(len(e.content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zipped(t testing.TB, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		m, err := w.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(m, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryPackingIsReadWhateverItsName(t *testing.T) {
	t.Parallel()
	plain := toy("kind=interrupts host=db1", 1, 2, 3)
	half := len(plain) / 2
	for _, tt := range []struct{ name, content, want string }{
		{"not packed", plain, "f"},
		{"gzip", gzipped(t, plain), "f"},
		{"gzip of several members", gzipped(t, plain[:half]) + gzipped(t, plain[half:]), "f"},
		{"zstd", zstandard(t, plain), "f"},
		{"zstd of several frames, the first to be skipped", "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard(t, plain[:half]) + zstandard(t, plain[half:]), "f"},
		{"bzip2", fixture(t, "toy.txt.bz2"), "f"},
		{"xz", xzed(t, plain), "f"},
		{"xz of several streams with padding", xzed(t, plain[:half]) + "\x00\x00\x00\x00" + xzed(t, plain[half:]), "f"},
		{"gzip of gzip", gzipped(t, gzipped(t, plain)), "f"},
		{"tar", tarred(t, entry{"dir/toy.txt", plain}), "f!dir/toy.txt"},
		{"tar.gz", gzipped(t, tarred(t, entry{"dir/toy.txt", plain})), "f!dir/toy.txt"},
		{"tar.zst", zstandard(t, tarred(t, entry{"dir/toy.txt", plain})), "f!dir/toy.txt"},
		{"tar.bz2", fixture(t, "toy.tar.bz2"), "f!dir/toy.txt"},
		{"tar.xz", xzed(t, tarred(t, entry{"dir/toy.txt", plain})), "f!dir/toy.txt"},
		{"tar whose names begin with ./", tarred(t, entry{"./toy.txt", plain}), "f!toy.txt"},
		{"zip", zipped(t, entry{"dir/toy.txt", plain}), "f!dir/toy.txt"},
		{"zip with names of Windows", zipped(t, entry{`dir\toy.txt`, plain}), "f!dir/toy.txt"},
		{"zip holding gzip", zipped(t, entry{"toy.gz", gzipped(t, plain)}), "f!toy.gz"},
		{"tar holding gzip", tarred(t, entry{"toy.gz", gzipped(t, plain)}), "f!toy.gz"},
		{"tar.gz holding zip", gzipped(t, tarred(t, entry{"a.zip", zipped(t, entry{"toy.txt", plain})})), "f!a.zip!toy.txt"},
		{"zip holding tar.gz", zipped(t, entry{"a.tgz", gzipped(t, tarred(t, entry{"toy.txt", plain}))}), "f!a.tgz!toy.txt"},
		{"zip within gzip", gzipped(t, zipped(t, entry{"toy.txt", plain})), "f!toy.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"f": tt.content})
			s := scanTree(t, dir, Limits{})
			if len(s.sources) != 1 || below(dir, s.sources[0].Name) != tt.want {
				t.Fatalf("sources %v, unknown %v; want one, %s", s.Sources(), s.Unknown(), tt.want)
			}
			got, report := readNode(t, s, "db1")
			if diff := cmp.Diff([]int64{1, 2, 3}, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if in := report.Inputs; len(in) != 1 || in[0].Records != 3 || in[0].Unread != 0 {
				t.Errorf("inputs %+v", in)
			}
		})
	}
}

// longToy is a toy file that does not compress well, of some 240 KiB in
// 30,000 lines: several blocks in every compression.
func longToy() string {
	r := rand.New(rand.NewPCG(1, 2))
	n := make([]int, 30_000)
	for i := range n {
		n[i] = 1_000_000 + r.IntN(9_000_000)
	}
	return toy("kind=interrupts host=db1", n...)
}

func TestAStreamThatBreaksOffIsUsedUpToThere(t *testing.T) {
	t.Parallel()
	plain := longToy()
	lines := strings.Split(plain, "\n")
	for _, tt := range []struct{ name, content string }{
		{"gzip", gzipped(t, plain)},
		{"zstd", zstandard(t, plain)},
		{"xz", xzed(t, plain)},
		{"tar", tarred(t, entry{"f", plain})},
		{"tar.gz", gzipped(t, tarred(t, entry{"f", plain}))},
		{"gzip in tar", tarred(t, entry{"f", gzipped(t, plain)})},
	} {
		for _, damage := range []struct {
			name, said string
			do         func(string) string
		}{
			{"cut", "cut short", func(s string) string { return s[:len(s)*3/4] }},
			{"overwritten", "damaged", func(s string) string {
				at := len(s) * 3 / 4
				return s[:at] + strings.Repeat("\xff", 300) + s[at+300:]
			}},
		} {
			if tt.name == "tar" && damage.name == "overwritten" {
				continue // what is not compressed has no check: it is a bad line
			}
			t.Run(tt.name+" "+damage.name, func(t *testing.T) {
				t.Parallel()
				s := scanTree(t, tree(t, map[string]string{"f": damage.do(tt.content)}), Limits{})
				got, report := readNode(t, s, "db1")
				if len(got) < 10_000 || len(got) >= 30_000 {
					t.Fatalf("%d records of 30,000 from three quarters", len(got))
				}
				sound := len(got)
				if damage.name == "overwritten" {
					sound = 20_000 // gzip tells damage only some way behind it
				}
				for i, v := range got[:min(sound, len(got))] {
					if fmt.Sprint(v) != lines[i+1] {
						t.Fatalf("record %d is %d, want %s: a value that the file does not hold", i, v, lines[i+1])
					}
				}
				if u := s.Unknown(); len(u) == 1 && tt.name == "tar.gz" {
					return // noticed behind the member, and told of the archive
				}
				in := report.Inputs[0]
				if in.Unread == 0 || !strings.Contains(in.Note, "breaks off, "+damage.said) || len(report.Warnings) != 1 {
					t.Errorf("the break is not told: %+v", in)
				}
			})
		}
	}
}

func TestAnArchiveThatBreaksOffIsNamed(t *testing.T) {
	t.Parallel()
	plain := toy("kind=interrupts host=db1", 1, 2, 3)
	whole := tarred(t, entry{"a", plain}, entry{"b", plain + "4\n"}, entry{"c", plain + "5\n"})
	dir := tree(t, map[string]string{"f.tar": whole[:2500]}) // within c: each member takes 1,024 bytes
	s := scanTree(t, dir, Limits{})
	if len(s.Sources()) < 2 {
		t.Errorf("sources %v, want a and b at least", s.Sources())
	}
	if u := s.Unknown(); len(u) != 1 || below(dir, u[0].Name) != "f.tar" || !strings.Contains(u[0].Reason, "breaks off after") {
		t.Errorf("unknown %v, want f.tar breaking off", u)
	}
}

func TestWhatIsNotReadIsNamed(t *testing.T) {
	t.Parallel()
	plain := toy("kind=interrupts host=db1", 1)
	nest := func(n int, pack func(string) string) string {
		s := plain
		for range n {
			s = pack(s)
		}
		return s
	}
	inTar := func(s string) string { return tarred(t, entry{"t", s}) }
	for _, tt := range []struct{ name, content, reason string }{
		{"an empty file", "", "empty"},
		{"a file of blanks", " \n\r\n\t\n", "begins with nothing but blanks"},
		{"text of no known kind", "hello\n", "text of no known kind"},
		{"binary", "\x7fELF\x00\x00", "binary, of no known kind"},
		{"UTF-16", "\xff\xfet\x00o\x00y\x00", "UTF-16 text: not read, save it as UTF-8"},
		{"lz4", "\x04\x22\x4d\x18\x60\x40\x82", "lz4 file: not read, unpack it first"},
		{"7z", "7z\xbc\xaf\x27\x1c\x00\x04", "7z archive: not read, unpack it first"},
		{"an empty gzip", gzipped(t, ""), "empty"},
		{"a gzip of nothing but its header", gzipped(t, plain)[:12], "cannot be read: unexpected EOF"},
		{"a gzip cut in its header", gzipped(t, plain)[:5], "cannot be unpacked: unexpected EOF"},
		{"five archives in one another", nest(5, inTar), "an archive more than 4 deep in archives: not read"},
		{"five compressions over one another", nest(5, func(s string) string { return gzipped(t, s) }), "compressed more than 4 times over: not read"},
		{"a link in tar", linkInTar(t), "link in an archive: not followed"},
		{"a sparse member", sparseTar(t), "sparse member: not read; pack it without -S"},
		{"an encrypted member", patched(zipped(t, entry{"m", plain}), 1, 0), "encrypted: not read"},
		{"a zip method that is not read", patched(zipped(t, entry{"m", plain}), 0, 99), "zip method 99 is not read"},
		{"a zip without its end", zipped(t, entry{"m", plain})[:60], "cannot be unpacked: zip: not a valid zip file"},
		{"an xz that needs 1 GiB of dictionary", hugeXZ(t, plain), "cannot be read: xz: needs a dictionary of 1 GiB, more than 256 MiB"},
		{"a zstd that needs a window of 2 GiB", "\x28\xb5\x2f\xfd\x00\xa8\x09\x00\x00a", "cannot be read: window size exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := scanTree(t, tree(t, map[string]string{"f": tt.content}), Limits{})
			if len(s.Sources()) != 0 || len(s.Unknown()) != 1 || s.Unknown()[0].Reason != tt.reason {
				t.Errorf("sources %v, unknown %q; want one reason %q", s.Sources(), s.Unknown(), tt.reason)
			}
		})
	}
}

func TestFourLayersOfNestingAreRead(t *testing.T) {
	t.Parallel()
	content := toy("kind=interrupts host=db1", 1)
	for range 4 {
		content = gzipped(t, tarred(t, entry{"t", content}))
	}
	// Each archive is compressed: four archives and four compressions.
	s := scanTree(t, tree(t, map[string]string{"f": content}), Limits{})
	if got, _ := readNode(t, s, "db1"); len(got) != 1 {
		t.Errorf("got %v, unknown %v", got, s.Unknown())
	}
}

func linkInTar(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sparseTar gives a member of 1 TiB of holes, as GNU tar 1.0 sparse headers
// say it. Go's writer writes none, so the header's records are set by hand.
func sparseTar(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	body := "1\n1099511627776\n0\n" // one region, empty, at 1 TiB
	body += strings.Repeat("\x00", 512-len(body))
	h := &tar.Header{Name: "s", Mode: 0o600, Size: int64(len(body)), Format: tar.FormatPAX, PAXRecords: map[string]string{
		"COREWAIT.s.major": "1", "COREWAIT.s.minor": "0", "COREWAIT.s.realsize": "1099511627776",
	}}
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The writer refuses the real names; they are as long as these.
	return strings.NewReplacer("COREWAIT.s.", "GNU.sparse.").Replace(b.String())
}

// patched sets the flags and the method of a zip archive's only member, in its
// local header and in the directory (APPNOTE.TXT 4.3.7 and 4.3.12).
func patched(archive string, flags, method byte) string {
	b := []byte(archive)
	central := bytes.Index(b, []byte("PK\x01\x02"))
	for _, at := range []int{6, central + 8} {
		b[at] |= flags
		if method != 0 {
			b[at+2] = method
		}
	}
	return string(b)
}

// hugeXZ makes the header of an xz file ask for a dictionary of 1 GiB: 2 << 29,
// property byte 36 (The .xz File Format, 5.3.1).
func hugeXZ(t *testing.T, content string) string {
	t.Helper()
	b := []byte(xzed(t, content))
	header := b[xzHeaderSize : xzHeaderSize+(int(b[xzHeaderSize])+1)*4]
	at := bytes.Index(header, []byte{xzLZMA2, 1})
	header[at+2] = 36
	body := header[:len(header)-4]
	binary.LittleEndian.PutUint32(header[len(body):], crc32.ChecksumIEEE(body))
	return string(b)
}

func TestNamesInArchivesAreOnlyNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../etc/passwd", "/etc/passwd", "a/../../../x", "..", "\x1b[31mred\n"} {
		for _, archive := range []string{tarred(t, entry{name, toy("kind=interrupts", 1)}), zipped(t, entry{name, toy("kind=interrupts", 1)})} {
			dir := tree(t, map[string]string{"in/f": archive})
			s := scanTree(t, dir, Limits{})
			if len(s.sources) != 1 {
				t.Fatalf("%q: sources %v, unknown %v", name, s.Sources(), s.Unknown())
			}
			src := s.sources[0]
			if strings.ContainsAny(src.Name, "\x1b\n") {
				t.Errorf("%q is shown as %q: a terminal would act upon it", name, src.Name)
			}
			if want := filepath.ToSlash(dir) + "/in/f!"; !strings.HasPrefix(strings.Join(src.place, "/"), want) {
				t.Errorf("%q is placed in %q, outside of its archive", name, src.place)
			}
			if got, _ := readNode(t, s, ""); len(got) != 1 {
				t.Errorf("%q: read %v", name, got)
			}
			if left, err := filepath.Glob(dir + "/*/*"); err != nil || len(left) != 1 {
				t.Errorf("%q: files on disk %v, %v: something was written", name, left, err)
			}
		}
	}
}

func TestLimitsEndTheScanNamingFileAndLimit(t *testing.T) {
	t.Parallel()
	small := toy("kind=interrupts", 1)
	bomb := strings.Repeat("0", 4<<20)
	for _, tt := range []struct {
		name, content, want string
		limits              Limits
	}{
		{"decompressed size of a tar.gz", gzipped(t, tarred(t, entry{"a", bomb})),
			"f: unpacks to more than 1 MiB", Limits{MaxDecompressed: 1 << 20}},
		{"decompressed size over all layers", gzipped(t, tarred(t, entry{"a", gzipped(t, bomb)}, entry{"b", gzipped(t, gzipped(t, bomb))}, entry{"c", gzipped(t, tarred(t, entry{"d", bomb}))})),
			"f: unpacks to more than 1 MiB", Limits{MaxDecompressed: 1 << 20}},
		{"members of a tar", tarred(t, entry{"a", small}, entry{"b", small}, entry{"c", small}),
			"f: more than 2 members", Limits{MaxMembers: 2}},
		{"members of a zip", zipped(t, entry{"a", small}, entry{"b", small}, entry{"c", small}),
			"f: more than 2 members", Limits{MaxMembers: 2}},
		{"members of archives within archives", tarred(t, entry{"a", tarred(t, entry{"x", small})}, entry{"b", tarred(t, entry{"x", small})}),
			"f: more than 3 members", Limits{MaxMembers: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"f": tt.content})
			_, err := scan(t.Context(), []string{dir}, tt.limits, toyFormats(), nil)
			var limit *LimitError
			if !errors.As(err, &limit) || !strings.HasPrefix(below(dir, err.Error()), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestABombIsMetWhenItIsRead(t *testing.T) {
	t.Parallel()
	// Only the beginning is unpacked by Scan; the rest by Read.
	dir := tree(t, map[string]string{"f.gz": gzipped(t, toy("kind=interrupts", 1)+strings.Repeat("0", 8<<20))})
	s := scanTree(t, dir, Limits{MaxDecompressed: 1 << 20})
	_, err := s.Read(t.Context(), "", Zones{}, &numbers{}, nil)
	var limit *LimitError
	if !errors.As(err, &limit) {
		t.Errorf("got %v, want a limit", err)
	}
}

func TestXZRoundTrip(t *testing.T) {
	t.Parallel()
	content := longToy()[:40_000]
	for _, check := range []byte{xz.CRC32, xz.CRC64, xz.SHA256} {
		for _, block := range []int64{0, 10_000} {
			packed := written(t, content, func(w io.Writer) (io.WriteCloser, error) {
				return xz.WriterConfig{CheckSum: check, BlockSize: block}.NewWriter(w)
			})
			x, err := newXZReader(bufio.NewReader(strings.NewReader(packed)), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(x); err != nil || string(got) != content {
				t.Errorf("check %d, blocks of %d: content differs, error %v", check, block, err)
			}
			// The last byte of the check is the one before the index, whose
			// size the footer gives in words (The .xz File Format, 2.1.2.2).
			index := (int(binary.LittleEndian.Uint32([]byte(packed[len(packed)-8:]))) + 1) * 4
			at := len(packed) - xzFooterSize - index - 1
			damaged := []byte(packed)
			damaged[at] ^= 1
			if x, err := newXZReader(bufio.NewReader(bytes.NewReader(damaged)), 1<<30); err != nil {
				t.Error(err)
			} else if _, err := io.ReadAll(x); !errors.Is(err, errXZCorrupt) {
				t.Errorf("check %d: a wrong check gives %v", check, err)
			}
		}
	}
}
