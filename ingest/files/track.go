package files

import "sync"

// Stage is what is being done with the files, in words for people.
type Stage string

// Stages, in the order in which they follow each other.
const (
	StageScan    Stage = "looking through" // which kinds there are; archives from end to end
	StageCompare Stage = "comparing"       // files that begin alike: are they copies?
	StageRead    Stage = "reading"
)

// Progress is told the stage, how many bytes on disk are done of how many that
// it takes, and a file that is worked on. It is told from several goroutines,
// one at a time. The count begins anew with each stage and with each node read.
type Progress func(stage Stage, done, total int64, name string)

// tracker sums up how far the files on disk have been taken in, for Progress.
type tracker struct {
	tell  Progress // may be nil
	stage Stage
	files []diskFile

	mu          sync.Mutex
	done, total int64
	reached     map[int]int64 // offset reached in each file on disk
}

// newTracker tracks a stage that takes in no file on disk yet.
func newTracker(tell Progress, stage Stage, files []diskFile) *tracker {
	return &tracker{tell: tell, stage: stage, files: files, reached: map[int]int64{}}
}

// expect adds a file on disk to those that the stage takes in.
func (t *tracker) expect(file int) {
	if _, met := t.reached[file]; !met {
		t.reached[file] = 0
		t.total += t.files[file].size
	}
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
		t.tell(t.stage, t.done, t.total, d.name)
	}
}

// finished tells that a file on disk is done, however little of it was read.
func (t *tracker) finished(file int) {
	if tell := t.in(file); tell != nil {
		tell(t.files[file].size)
	}
}
