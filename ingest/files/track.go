package files

import "sync"

// tracker sums up how far the files on disk have been read, for Progress. It
// tells one goroutine at a time.
type tracker struct {
	tell  Progress // may be nil
	files []diskFile

	mu          sync.Mutex
	done, total int64
	reached     map[int]int64 // offset reached in each file on disk
}

// newTracker tracks the files on disk that hold the sources.
func newTracker(tell Progress, files []diskFile, pending []*source) *tracker {
	t := &tracker{tell: tell, files: files, reached: map[int]int64{}}
	for _, src := range pending {
		if _, ok := t.reached[src.file]; !ok {
			t.reached[src.file] = 0
			t.total += files[src.file].size
		}
	}
	return t
}

// in gives what is told of the offset reached in one file on disk; nil where
// nobody wants to know. Passes after the first add nothing.
func (t *tracker) in(file int) func(offset int64) {
	if t.tell == nil {
		return nil
	}
	d := &t.files[file]
	return func(offset int64) {
		t.mu.Lock()
		defer t.mu.Unlock()
		offset = min(offset, d.size)
		if offset <= t.reached[file] {
			return
		}
		t.done += offset - t.reached[file]
		t.reached[file] = offset
		t.tell(t.done, t.total, d.name)
	}
}
