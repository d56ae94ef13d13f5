package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unknown is a file that is not read, and why.
type Unknown struct {
	Name   string // as shown to people
	Reason string
}

// diskFile is one regular file on disk.
type diskFile struct {
	path string // to open it
	name string // as shown to people
	key  string // absolute path with slashes: what tells files and folders apart
	size int64
}

// walker gathers the regular files of the paths that a user gave.
type walker struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call of walk
	limits  Limits
	files   []diskFile
	unknown []Unknown
	seen    map[string]bool // keys of files
	root    string          // the folder being walked, without symbolic links
}

// readDirBatch is how many entries of a folder are asked for at once, so that
// the limit on files holds before a huge folder is in memory.
const readDirBatch = 1024

// walk gives the files of paths: each path itself, or everything below it, in
// the order of paths and then of names. A path given may be a symbolic link;
// links found below it are not followed: what they lead to within the folder
// is met anyway.
func walk(ctx context.Context, paths []string, limits Limits) ([]diskFile, []Unknown, error) {
	w := &walker{ctx: ctx, limits: limits, seen: map[string]bool{}}
	for _, p := range paths {
		if err := w.path(p); err != nil {
			return nil, nil, err
		}
	}
	return w.files, w.unknown, nil
}

func (w *walker) path(p string) error {
	info, err := os.Stat(p)
	if err != nil {
		return fmt.Errorf("%s: %w", shown(p), bare(err))
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: not a regular file: it is read twice, so save it to a file first", shown(p))
		}
		return w.add(p, info.Size())
	}
	if w.root, err = filepath.EvalSymlinks(p); err != nil {
		return fmt.Errorf("%s: %w", shown(p), bare(err))
	}
	if w.root, err = filepath.Abs(w.root); err != nil {
		return fmt.Errorf("%s: %w", shown(p), err)
	}
	return w.folder(p)
}

func (w *walker) folder(dir string) error {
	entries, err := w.entries(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.entry(filepath.Join(dir, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

// entries lists a folder by name. A folder that cannot be listed is named.
func (w *walker) entries(dir string) ([]fs.DirEntry, error) {
	f, err := os.Open(dir) //nolint:gosec // the user names what is read
	if err != nil {
		w.refuse(dir, "cannot be opened: "+bare(err).Error())
		return nil, nil
	}
	defer f.Close()
	var entries []fs.DirEntry
	for {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		batch, err := f.ReadDir(readDirBatch)
		entries = append(entries, batch...)
		if len(entries) > w.limits.MaxFiles {
			return nil, w.tooMany(dir)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.refuse(dir, "cannot be listed to its end: "+bare(err).Error())
			break
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func (w *walker) entry(p string, e fs.DirEntry) error {
	switch mode := e.Type(); {
	case mode.IsDir() && strings.HasPrefix(e.Name(), "."):
		w.refuse(p, "hidden folder: not walked")
	case mode.IsDir():
		return w.folder(p)
	case mode&fs.ModeSymlink != 0:
		w.link(p)
	case !mode.IsRegular():
		w.refuse(p, "not a regular file")
	default:
		info, err := e.Info()
		if err != nil {
			w.refuse(p, "cannot be opened: "+bare(err).Error())
			return nil
		}
		return w.add(p, info.Size())
	}
	return nil
}

// link names a symbolic link, unless it leads to what is walked anyway.
func (w *walker) link(p string) {
	target, err := filepath.EvalSymlinks(p)
	if err != nil {
		w.refuse(p, "symbolic link that leads nowhere")
		return
	}
	target, err = filepath.Abs(target)
	if err == nil && (target == w.root || strings.HasPrefix(target, w.root+string(filepath.Separator))) {
		return
	}
	w.refuse(p, "symbolic link that leads out of the folder: not followed")
}

func (w *walker) add(p string, size int64) error {
	abs, err := filepath.Abs(p)
	if err != nil {
		return fmt.Errorf("%s: %w", shown(p), err)
	}
	key := filepath.ToSlash(abs)
	if w.seen[key] {
		return nil
	}
	if len(w.files) == w.limits.MaxFiles {
		return w.tooMany(p)
	}
	w.seen[key] = true
	w.files = append(w.files, diskFile{path: p, name: shown(p), key: key, size: size})
	return nil
}

func (w *walker) refuse(p, reason string) {
	w.unknown = append(w.unknown, Unknown{Name: shown(p), Reason: reason})
}

func (w *walker) tooMany(p string) error {
	return &LimitError{File: shown(p), Limit: fmt.Sprintf("more than %d files in all", w.limits.MaxFiles)}
}

// maxShown bounds a name as shown; PATH_MAX of Linux is as long.
const maxShown = 4096

// shown makes a name fit to print: what a terminal would act upon becomes '?'.
func shown(name string) string {
	if len(name) > maxShown {
		name = name[:maxShown]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// bare gives the cause of an error that repeats the path.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
