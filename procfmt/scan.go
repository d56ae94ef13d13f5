package procfmt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Bounds against hostile input. The kernel itself is built for at most 8,192
// CPUs (NR_CPUS); no host has been seen with more than a few thousand
// interrupt lines.
const (
	maxCPUs  = 8192
	maxLines = 65536
	maxCells = 16 << 20 // counters of one snapshot: 128 MiB
)

// columnWidth is how wide the kernel prints one CPU's counter: a blank and
// `%10u` (kernel/irq/proc.c, fs/proc/softirqs.c). A larger value is wider.
const columnWidth = 11

var (
	errTooManyLines = fmt.Errorf("more than %d lines", maxLines)
	errTooManyCells = fmt.Errorf("more than %d counters in one snapshot", maxCells)
	errNoColon      = errors.New("no colon after the row's name")
)

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return c-'0' < 10 }

// token splits off the first word of line.
func token(line []byte) (word, rest []byte) {
	begin := 0
	for begin < len(line) && isBlank(line[begin]) {
		begin++
	}
	end := begin
	for end < len(line) && !isBlank(line[end]) {
		end++
	}
	return line[begin:end], line[end:]
}

// number reads a whole word as a decimal number.
func number(word []byte) (uint64, bool) {
	if len(word) == 0 {
		return 0, false
	}
	n, end, ok := digits(word, 0)
	return n, ok && end == len(word)
}

// digits reads the decimal number that begins at row[at]; ok is false where
// there is none or where it exceeds 64 bits.
func digits(row []byte, at int) (n uint64, end int, ok bool) {
	end = at
	for end < len(row) && isDigit(row[end]) {
		d := uint64(row[end] - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, end, false
		}
		n = n*10 + d
		end++
	}
	return n, end, end > at
}

// cpuHeader reads a line of CPU names ("CPU0 CPU1 CPU3") into ids, reusing its
// memory. The kernel prints them ascending.
func cpuHeader(line []byte, ids []int) ([]int, error) {
	ids = ids[:0]
	for {
		var word []byte
		word, line = token(line)
		if len(word) == 0 {
			break
		}
		n, ok := number(bytes.TrimPrefix(word, []byte("CPU")))
		switch {
		case !ok || len(word) < len("CPU0") || word[0] != 'C':
			return ids[:0], fmt.Errorf("header: %.40q is not the name of a CPU", word)
		case n >= maxCPUs:
			return ids[:0], fmt.Errorf("header: %.40s: more than %d CPUs are not supported", word, maxCPUs)
		case len(ids) > 0 && int(n) <= ids[len(ids)-1]:
			return ids[:0], fmt.Errorf("header: %.40s is out of order", word)
		}
		ids = append(ids, int(n))
	}
	if len(ids) == 0 {
		return ids, errors.New("header: names no CPU")
	}
	return ids, nil
}

// IsCPUHeader says whether line is the first line of /proc/interrupts or
// /proc/softirqs: nothing but names of CPUs.
func IsCPUHeader(line []byte) bool {
	word, rest := token(line)
	for len(word) > 0 {
		if len(word) < len("CPU0") || !bytes.HasPrefix(word, []byte("CPU")) {
			return false
		}
		for _, c := range word[3:] {
			if !isDigit(c) {
				return false
			}
		}
		word, rest = token(rest)
		if len(word) == 0 {
			return true
		}
	}
	return false
}

const (
	blanks8 = 0x2020202020202020 // eight blanks
	zeroEnd = 0x20302020         // "  0 ", little-endian
	ones8   = 0x0101010101010101
)

// counts reads one number per element of into from the beginning of row. It
// gives how many it found before something else came, and where that begins.
// ok is false where a number exceeds 64 bits.
func counts(into []uint64, row []byte) (found, end int, ok bool) {
	for {
		n, width := alignedCounts(into[found:], row[end:])
		found, end = found+n, end+width
		if found == len(into) {
			return found, end, true
		}
		for end < len(row) && isBlank(row[end]) {
			end++
		}
		n64, stop, isNumber := digits(row, end)
		if stop > end && !isNumber {
			return found, end, false
		}
		if !isNumber || (stop < len(row) && !isBlank(row[stop])) {
			return found, end, true
		}
		into[found] = n64
		found, end = found+1, stop
	}
}

// alignedCounts reads columns for as long as they lie as the kernel prints
// them and hold no more than 32 bits, or little more. Nearly all bytes of a
// snapshot pass through here, and most are zeros.
func alignedCounts(into []uint64, row []byte) (found, width int) {
	for found < len(into) && len(row) > columnWidth {
		column := row[:columnWidth+1]
		if binary.LittleEndian.Uint64(column) == blanks8 && binary.LittleEndian.Uint32(column[8:]) == zeroEnd {
			into[found] = 0
		} else {
			n, ok := alignedCount((*[columnWidth + 1]byte)(column))
			if !ok {
				break
			}
			into[found] = n
		}
		found++
		row = row[columnWidth:]
	}
	return found, found * columnWidth
}

// alignedCount reads a column with a number of at most ten digits,
// right-aligned behind blanks and before one, eight bytes at once.
func alignedCount(column *[columnWidth + 1]byte) (uint64, bool) {
	word := binary.LittleEndian.Uint64(column[3:])
	// A blank is 0x20 and a digit 0x30 to 0x39: they differ in bit 4. Blanks
	// come first, are nothing but blanks, and leave at least one digit.
	blank := (^word >> 4) & ones8
	mask := blank * 0xff // 0xff where a byte is no digit
	if mask&(mask+1) != 0 || word&mask != blanks8&mask || mask == math.MaxUint64 {
		return 0, false
	}
	word |= blank << 4 // blanks become zeros
	low := word & (0x0f * ones8)
	if word&(0xf0*ones8) != 0x30*ones8 || ((low+0x06*ones8)&(0xf0*ones8)) != 0 {
		return 0, false
	}
	if column[0] != ' ' || column[columnWidth] != ' ' {
		return 0, false
	}
	// Pairs, then fours, then all eight digits; the first digit is the lowest byte.
	low = low*10 + low>>8
	const pairs = 0x000000ff000000ff
	n := ((low&pairs)*(100+1000000<<32) + ((low>>16)&pairs)*(1+10000<<32)) >> 32
	if column[2] == ' ' {
		return n, column[1] == ' '
	}
	if mask != 0 || !isDigit(column[2]) || column[1] != ' ' && !isDigit(column[1]) {
		return 0, false
	}
	n += uint64(column[2]-'0') * 100_000_000
	if column[1] != ' ' {
		n += uint64(column[1]-'0') * 1_000_000_000
	}
	return n, true
}

// eachRow hands on every line that is not blank, with its number, until an error.
func eachRow(data []byte, row func(number int, line []byte) error) error {
	for number := 1; len(data) > 0; number++ {
		var line []byte
		line, data = cutLine(data)
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := row(number, line); err != nil {
			return err
		}
	}
	return nil
}
