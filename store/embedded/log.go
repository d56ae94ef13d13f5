package embedded

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

const (
	// logLimit is how large the log may grow before it becomes log.1, in bytes.
	logLimit = 8 << 20
	// tailLimit is how much of the log's end is kept for error texts, in bytes.
	tailLimit = 4 << 10
	// tailLines is how many lines of it an error text shows.
	tailLines = 3
)

// serverLog takes what the server writes to its standard error, keeps it in a
// file and its one predecessor, and remembers the end.
type serverLog struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
	tail []byte
}

func openLog(path string) (*serverLog, error) {
	l := &serverLog{path: path}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("embedded postgres: %w", err)
	}
	return l, nil
}

func (l *serverLog) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write never fails: a full disk must not stop the reading of the pipe, on
// which the server would then wait.
func (l *serverLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, b...)
	if len(l.tail) > tailLimit {
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-tailLimit:]...)
	}
	if l.size+int64(len(b)) > logLimit {
		l.rotate()
	}
	if l.file == nil {
		return len(b), nil
	}
	n, err := l.file.Write(b)
	if err != nil {
		n = len(b)
	}
	l.size += int64(n)
	return len(b), nil
}

// rotate begins a new file. Where that fails nothing is kept on disk from then
// on: the bound matters more than the log.
func (l *serverLog) rotate() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return
	}
	_ = l.open()
}

// Tail is the end of what the server wrote, as one line.
func (l *serverLog) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(l.tail)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "; ")
}

// forget drops the tail, so that the next error shows only what came after.
func (l *serverLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = l.tail[:0]
}

func (l *serverLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
