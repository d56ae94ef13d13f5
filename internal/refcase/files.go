package refcase

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// The files that a FileWriter writes. The bond's file is named after the bond,
// as in /proc/net/bonding.
const (
	fileInterrupts = "interrupts.log"
	filePidstat    = "pidstat_lgwr.txt"
	fileMpstat     = "mpstat.txt"
	fileVmstat     = "vmstat.txt"
	fileIostat     = "iostat.txt"
	fileLscpu      = "lscpu.txt"
	fileLscpuList  = "lscpu_p.txt"
	fileASH        = "ash.csv"
	fileSysstat    = "sysstat.csv"
	fileHistogram  = "event_histogram.csv"
	fileInstance   = "instance.csv"
)

// kernel is the release that the tools' banners name.
const kernel = "4.18.0-553.el8_10.x86_64"

// FileWriter is a Sink that writes records as the files in which a DBA would
// have collected them: the tools' and SQL*Plus' own formats, local times in the
// scenario's zone. What the records do not carry and the formats print (memory
// in vmstat, sizes in iostat) is constant. Close completes the files.
type FileWriter struct {
	dir   string
	node  string
	zone  *time.Location
	start time.Time
	cpus  int
	built Machine
	cut   map[int]float64 // blocks of the interrupt log to cut short, and at which share of their bytes
	files map[string]*outFile

	block     []byte // of the interrupt log, built in one piece
	blocks    int
	lastCPU   time.Time // interval of mpstat being written
	lastPlace time.Time // second of pidstat being written
	lines     int       // of pidstat since its last heading
}

var _ ingest.Sink = (*FileWriter)(nil)

// outFile is one file being written.
type outFile struct {
	buffer *bufio.Writer
	file   *os.File
	line   []byte // reused
}

// NewFileWriter writes into a folder, which it makes where it is not there.
func NewFileWriter(dir string, s Scenario) (*FileWriter, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	w := &FileWriter{
		dir: dir, node: s.Node, zone: s.Start.Location(), start: s.Start, cpus: s.Machine.cpus(), built: s.Machine,
		cut: map[int]float64{}, files: map[string]*outFile{},
	}
	if s.Records.Interrupts > 0 {
		r := stream(s.Seed, streamFiles)
		blocks := int(s.Hours * 3600 / s.Records.Interrupts.Seconds())
		for range min(s.Records.TruncatedBlocks, blocks/2) {
			w.cut[1+r.IntN(blocks)] = between(r, 0.05, 0.9)
		}
	}
	return w, nil
}

// Close completes all files and tells the first fault.
func (w *FileWriter) Close() error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		f := w.files[name]
		if err := errors.Join(f.buffer.Flush(), f.file.Close()); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	clear(w.files)
	return errors.Join(faults...)
}

// open gives a file, new with its heading where it is the first time.
func (w *FileWriter) open(name, heading string) (*outFile, error) {
	if f := w.files[name]; f != nil {
		return f, nil
	}
	file, err := os.Create(filepath.Join(w.dir, filepath.Base(name)))
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	f := &outFile{buffer: bufio.NewWriterSize(file, 64<<10), file: file}
	w.files[name] = f
	if err := f.write([]byte(heading)); err != nil {
		return nil, err
	}
	return f, nil
}

// write writes one piece to a file.
func (f *outFile) write(piece []byte) error {
	if _, err := f.buffer.Write(piece); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// print writes one formatted piece to a file.
func (f *outFile) print(format string, args ...any) error {
	f.line = fmt.Appendf(f.line[:0], format, args...)
	return f.write(f.line)
}

// banner is the first line that sysstat's tools print, in ISO form.
func (w *FileWriter) banner() string {
	return fmt.Sprintf("Linux %s (%s) \t%s \t_x86_64_\t(%d CPU)\n", kernel, w.node, w.start.In(w.zone).Format(time.DateOnly), w.cpus)
}

// clock is a time of day as sysstat's tools print it in ISO form.
func (w *FileWriter) clock(t time.Time) string { return t.In(w.zone).Format("15:04:05-0700") }

// noFile is the answer to records that no file of this writer holds.
func noFile(what string) error { return fmt.Errorf("write %s: %w", what, errors.ErrUnsupported) }

// Softirqs has no file here.
func (w *FileWriter) Softirqs(*domain.SoftirqSnapshot) error { return noFile("/proc/softirqs") }

// CPUTimes has no file here.
func (w *FileWriter) CPUTimes(*domain.CPUTimesSnapshot) error { return noFile("/proc/stat") }

// Disks has no file here.
func (w *FileWriter) Disks(*domain.DiskSnapshot) error { return noFile("/proc/diskstats") }

// SystemEvent has no file here.
func (w *FileWriter) SystemEvent(domain.SystemEvent) error { return noFile("V$SYSTEM_EVENT") }
