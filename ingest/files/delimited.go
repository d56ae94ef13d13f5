package files

import (
	"bytes"
	"errors"
)

// maxCell bounds a cell; Oracle's longest text in these views is 4,000 bytes,
// or 32,767 with MAX_STRING_SIZE = EXTENDED.
const maxCell = 32 << 10

var (
	errOpenQuote = errors.New("quoted value does not end")
	errQuote     = errors.New("text behind a quoted value")
	errCellSize  = errors.New("value over 32 KiB")
	errColumns   = errors.New("over 1,000 columns")
)

// delimited cuts lines of separated values. encoding/csv is not used: a file
// may change its headings, hold prompts and rulers between rows and be cut
// anywhere, so each line is judged by itself and keeps its number; besides,
// this is several times faster.
type delimited struct {
	delimiter byte
	cells     [][]byte
	text      []byte // unescaped quoted values of the line
}

// split gives a line's cells without the blanks that pad them and without
// their quotes; valid until the next call, and no longer than the line is.
func (d *delimited) split(line []byte) ([][]byte, error) {
	d.cells, d.text = d.cells[:0], d.text[:0]
	quotes := bytes.IndexByte(line, '"') >= 0
	for {
		if len(d.cells) == maxResultColumns {
			return nil, errColumns
		}
		var cell []byte
		var err error
		var last bool
		if quotes {
			line = d.skipBlanks(line)
		}
		if quotes && len(line) > 0 && line[0] == '"' {
			cell, line, last, err = d.quoted(line[1:])
			if err != nil {
				return nil, err
			}
		} else {
			end := bytes.IndexByte(line, d.delimiter)
			if last = end < 0; last {
				end = len(line)
			}
			cell = trimPadding(line[:end])
			line = line[min(end+1, len(line)):]
		}
		if len(cell) > maxCell {
			return nil, errCellSize
		}
		d.cells = append(d.cells, cell)
		if last {
			return d.cells, nil
		}
	}
}

// quoted reads a value up to its closing quote and the delimiter behind it.
func (d *delimited) quoted(line []byte) (cell, rest []byte, last bool, err error) {
	begin := len(d.text)
	for {
		end := bytes.IndexByte(line, '"')
		if end < 0 {
			return nil, nil, false, errOpenQuote
		}
		d.text = append(d.text, line[:end]...)
		line = line[end+1:]
		if len(line) == 0 || line[0] != '"' {
			break
		}
		d.text = append(d.text, '"') // a doubled quote is one
		line = line[1:]
	}
	line = d.skipBlanks(line)
	cell = bytes.TrimRight(d.text[begin:], " ")
	if len(line) == 0 {
		return cell, nil, true, nil
	}
	if line[0] != d.delimiter {
		return nil, nil, false, errQuote
	}
	return cell, line[1:], false, nil
}

func (d *delimited) skipBlanks(line []byte) []byte {
	for len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	return line
}

// trimPadding cuts the blanks that SQL*Plus pads with.
func trimPadding(cell []byte) []byte {
	for len(cell) > 0 && (cell[0] == ' ' || cell[0] == '\t') {
		cell = cell[1:]
	}
	for len(cell) > 0 && (cell[len(cell)-1] == ' ' || cell[len(cell)-1] == '\t') {
		cell = cell[:len(cell)-1]
	}
	return cell
}

// delimiters that files are told by; blanks are not one.
const delimiters = ",\t;|"
