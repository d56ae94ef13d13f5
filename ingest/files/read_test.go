package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
)

// at gives the toy fields of a log of a kind that begins at an hour.
func at(kind Kind, hour int) string {
	return fmt.Sprintf("kind=%s first=2026-09-10T%02d:00:00", kind, hour)
}

func TestRotatedLogsAreReadInOrderOfTime(t *testing.T) {
	t.Parallel()
	log := func(hour int) string { return toy(at(KindInterrupts, hour), hour) }
	for _, tt := range []struct {
		name  string
		files map[string]string
	}{
		{"plain files, the newest first by name", map[string]string{"log": log(9), "log.1": log(8), "log.2.gz": gzipped(t, log(7))}},
		{"members of one archive", map[string]string{
			"a.tar.gz": gzipped(t, tarred(t, entry{"log", log(9)}, entry{"log.1", log(8)}, entry{"log.2", log(7)})),
		}},
		{"archives and plain files", map[string]string{
			"a.tar": tarred(t, entry{"x/log", log(9)}, entry{"x/log.2", log(7)}), "log.1": log(8),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, report := readNode(t, scanTree(t, tree(t, tt.files), Limits{}), "")
			if diff := cmp.Diff([]int64{7, 8, 9}, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if len(report.Inputs) != 3 || len(report.Warnings) != 0 {
				t.Errorf("report %+v", report)
			}
		})
	}
}

func TestWithoutRoomToParkMembersTheArchiveIsReadAgain(t *testing.T) {
	t.Parallel()
	var members []entry
	for hour := 23; hour >= 0; hour-- {
		members = append(members, entry{fmt.Sprintf("log.%02d", hour), toy(at(KindInterrupts, hour), hour)})
	}
	s := scanTree(t, tree(t, map[string]string{"a.tar": tarred(t, members...)}), Limits{})
	for _, room := range []int64{0, 200, parkingRoom} {
		sink := &numbers{}
		if _, err := s.read(t.Context(), "", Zones{}, sink, nil, room); err != nil {
			t.Fatal(err)
		}
		for i, v := range sink.got {
			if int(v) != i {
				t.Errorf("room %d: record %d is %d", room, i, v)
			}
		}
		if len(sink.got) != 24 {
			t.Errorf("room %d: %d records, want 24", room, len(sink.got))
		}
	}
}

func TestAParkedMemberThatBreaksOffIsStillTold(t *testing.T) {
	t.Parallel()
	late := strings.Replace(longToy(), "\n", " first=2026-09-10T09:00:00\n", 1)
	broken := gzipped(t, late)
	s := scanTree(t, tree(t, map[string]string{"a.tar": tarred(t,
		entry{"late.gz", broken[:len(broken)*3/4]}, entry{"early", toy(at(KindInterrupts, 8)+" host=db1", 1)},
	)}), Limits{})
	got, report := readNode(t, s, "db1")
	if got[0] != 1 || len(got) < 10_000 {
		t.Errorf("%d records, the first %d", len(got), got[0])
	}
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "breaks off, cut short") {
		t.Errorf("warnings %q", report.Warnings)
	}
}

func TestCopiesAreReadOnce(t *testing.T) {
	t.Parallel()
	file, long := toy("kind=interrupts host=db1", 1), longToy()
	for _, tt := range []struct {
		name   string
		files  map[string]string
		copies []string
	}{
		{"a file under two names", map[string]string{"a": file, "b": file}, []string{"b"}},
		{"a file and itself packed", map[string]string{"a": file, "b.gz": gzipped(t, file), "c.tar": tarred(t, entry{"a", file})}, []string{"b.gz", "c.tar!a"}},
		{"long files", map[string]string{"a": long, "b.gz": gzipped(t, long)}, []string{"b.gz"}},
		{"long files that differ at their ends only", map[string]string{"a": long, "b": long + "1\n"}, nil},
		{"files of two nodes are no copies", map[string]string{"db1/a": toy("kind=lscpu", 1), "db1/b": file, "db2/a": toy("kind=lscpu", 1), "db2/b": toy("kind=interrupts host=db2", 1)}, nil},
		{"files without times may say something by name", map[string]string{"bond0": toy("kind=bonding host=db1", 1), "bond1": toy("kind=bonding host=db1", 1)}, nil},
		{"unless the name is the same", map[string]string{"x/bond0": toy("kind=bonding host=db1", 1), "y/bond0": toy("kind=bonding host=db1", 1)}, []string{"y/bond0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, tt.files)
			_, report := readNode(t, scanTree(t, dir, Limits{}), "db1")
			var copies []string
			for _, in := range report.Inputs {
				if strings.HasPrefix(in.Note, "copy of ") {
					copies = append(copies, below(dir, in.Path))
				} else if in.Records == 0 {
					t.Errorf("not read and no copy: %+v", in)
				}
			}
			if diff := cmp.Diff(tt.copies, copies); diff != "" {
				t.Errorf("copies (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReportCountsWhatWasReadAndWhatNot(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a": toy("kind=interrupts", 1, 2) + "x\ny\n3\n",
		"b": toy("kind=vmstat") + "unreadable from here\n1\n",
		"c": toy("kind=pidstat"),
		"d": toy("kind=lscpu", 1) + strings.Repeat("9", maxLine+1) + "\n2\n",
	})
	got, report := readNode(t, scanTree(t, dir, Limits{}), "")
	if len(got) != 5 {
		t.Errorf("got %v", got)
	}
	a, b, d := dir+"/a:4: not a number", dir+"/b:2: the rest is not read: it says so", dir+"/d:3: longer than 1 MiB: not read"
	want := []domain.Input{
		{Path: dir + "/a", Kind: "interrupts", Records: 3, Unread: 2, FirstBad: &a},
		{Path: dir + "/b", Kind: "vmstat", Unread: 1, Note: "after line 2: the rest is not read: it says so", FirstBad: &b},
		{Path: dir + "/c", Kind: "pidstat", Note: "nothing in it could be used"},
		{Path: dir + "/d", Kind: "lscpu", Records: 2, Unread: 1, FirstBad: &d},
	}
	if diff := cmp.Diff(want, report.Inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if len(report.Problems) != 4 {
		t.Errorf("problems %q, want those of a (two), b and d", report.Problems)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, content := range []string{longToy(), gzipped(t, tarred(t, entry{"f", longToy()}))} {
		s := scanTree(t, tree(t, map[string]string{"f": content}), Limits{})
		ctx, cancel := context.WithCancel(t.Context())
		sink := &numbers{each: func() error { cancel(); return nil }}
		_, err := s.Read(ctx, "db1", Zones{}, sink, nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want cancelled", err)
		}
		if len(sink.got) >= 30_000 {
			t.Error("all was read although the context had ended")
		}
	}
}

func TestReadEndsWithTheErrorOfTheSink(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	for _, content := range []string{longToy(), tarred(t, entry{"f", longToy()})} {
		s := scanTree(t, tree(t, map[string]string{"f": content}), Limits{})
		sink := &numbers{each: func() error { return full }}
		if _, err := s.Read(t.Context(), "db1", Zones{}, sink, nil); !errors.Is(err, full) || len(sink.got) != 1 {
			t.Errorf("got %v after %d records, want the sink's error after one", err, len(sink.got))
		}
	}
}

func TestAFileThatWentAwayIsTold(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": toy("kind=interrupts", 1), "b": toy("kind=interrupts", 2)})
	s := scanTree(t, dir, Limits{})
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	got, report := readNode(t, s, "")
	if diff := cmp.Diff([]int64{2}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "went away") || len(report.Inputs) != 2 {
		t.Errorf("report %+v", report)
	}
}

// An archive is looked through from end to end, and files that begin alike are
// compared: both take long where they are large, so both are told.
func TestProgressIsToldBeforeTheFilesAreRead(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]map[string]string{
		"plain files":      {"a": longToy(), "b": longToy() + "1\n"},
		"an archive":       {"a.tar.gz": gzipped(t, tarred(t, entry{"x/a", longToy()}, entry{"x/b", longToy() + "1\n"}))},
		"a zip archive":    {"a.zip": zipped(t, entry{"x/a", longToy()}, entry{"x/b", longToy() + "1\n"})},
		"an empty one too": {"a": "", "b": longToy(), "c": longToy() + "1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, long)
			last := map[Stage]int64{}
			told := map[Stage]int{}
			var total int64
			s, err := scan(t.Context(), []string{dir}, Limits{}, toyFormats(), func(stage Stage, done, of int64, name string) {
				if done <= last[stage] || done > of || !strings.HasPrefix(name, dir) {
					t.Errorf("%s: %d of %d after %d in %q", stage, done, of, last[stage], name)
				}
				last[stage], total = done, of
				told[stage]++
			})
			if err != nil {
				t.Fatal(err)
			}
			var size int64
			for _, f := range s.files {
				size += f.size
			}
			if last[StageScan] != size || total != size || told[StageScan] < len(long)-1 || told[StageCompare] < 1 || told[StageRead] > 0 {
				t.Errorf("reached %v of %d bytes, told %v times", last, size, told)
			}
		})
	}
}

func TestProgressGrowsToTheSizeOfTheFiles(t *testing.T) {
	t.Parallel()
	s := scanTree(t, tree(t, map[string]string{"a": longToy(), "b.gz": gzipped(t, longToy()+"1\n")}), Limits{})
	var total int64
	for _, f := range s.files {
		total += f.size
	}
	var last int64
	_, err := s.Read(t.Context(), "db1", Zones{}, &numbers{}, func(stage Stage, done, of int64, name string) {
		if stage != StageRead || done <= last || done > of || of != total || name == "" {
			t.Errorf("progress %d of %d after %d of %d in %q", done, of, last, total, name)
		}
		last = done
	})
	if err != nil || last != total {
		t.Errorf("ended at %d of %d, error %v", last, total, err)
	}
}
