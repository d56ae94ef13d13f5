package files

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
)

// spoolColumn is a column as SQL*Plus prints it: the heading cut to the width
// of text columns, numbers aligned to the right.
type spoolColumn struct {
	name   string
	width  int
	number bool
}

func ashSpoolColumns() []spoolColumn {
	return []spoolColumn{
		{"SAMPLE_ID", 10, true}, {"SAMPLE_TIME", 40, false}, {"INST_ID", 10, true}, {"SESSION_ID", 10, true},
		{"SESSION_SERIAL#", 15, true}, {"SESSION_TYPE", 10, false}, {"SQL_ID", 13, false}, {"EVENT", 30, false},
		{"WAIT_CLASS", 20, false}, {"SESSION_STATE", 7, false}, {"TIME_WAITED", 11, true}, {"P1", 10, true},
		{"P2", 10, true}, {"P3", 10, true}, {"PROGRAM", 25, false},
	}
}

// ashRows makes rows and the waits that they mean.
func ashRows(r *rand.Rand, n int, timeForm string) (rows [][]string, want []domain.Wait) {
	events := []string{"log file sync", "log file parallel write", "db file sequential read", "SYNC Remote Write", ""}
	at := time.Date(2026, 9, 15, 0, 33, 52, 212_000_000, time.UTC)
	for i := range n {
		if r.IntN(4) == 0 {
			at = at.Add(time.Duration(1000+r.IntN(9)) * time.Millisecond)
		}
		w := domain.Wait{
			At: at, SampleID: 4711000 + int64(i/4), InstID: 1 + r.IntN(2), SessionID: r.IntN(2000), Serial: r.IntN(60000),
			Background: r.IntN(5) == 0, Event: events[r.IntN(len(events))], Period: time.Second,
			Program: fmt.Sprintf("order-api@app%d", r.IntN(12)), P1: int64(r.IntN(5000)), P2: int64(r.IntN(90000000)), P3: 0,
		}
		kind, state, sqlID, class := "FOREGROUND", "ON CPU", "", ""
		if w.Background {
			kind = "BACKGROUND"
		}
		if r.IntN(3) == 0 {
			sqlID = "8dq0v1mjngj7t"
		}
		w.SQLID = sqlID
		waited := "0"
		if w.Waiting = w.Event != ""; w.Waiting {
			state, class = "WAITING", "Commit"
			us := r.IntN(900000)
			w.TimeWaited, waited = time.Duration(us)*time.Microsecond, fmt.Sprint(us)
		}
		rows = append(rows, []string{
			fmt.Sprint(w.SampleID), printedTime(at, timeForm), fmt.Sprint(w.InstID), fmt.Sprint(w.SessionID),
			fmt.Sprint(w.Serial), kind, sqlID, w.Event, class, state, waited, fmt.Sprint(w.P1), fmt.Sprint(w.P2), "0", w.Program,
		})
		want = append(want, w)
	}
	return rows, want
}

// printedTime prints an instant as a database host in Seoul does.
func printedTime(at time.Time, form string) string {
	local := at.Add(9 * time.Hour)
	switch form {
	case "korean":
		half := "오전"
		if local.Hour() >= 12 {
			half = "오후"
		}
		return fmt.Sprintf("%02d-%d월 -%02d %s %s", local.Day(), local.Month(), local.Year()%100, local.Format("03.04.05.000000"), half)
	case "nls":
		return strings.ToUpper(local.Format("02-Jan-06 03.04.05.000000 PM"))
	default:
		return local.Format("2006-01-02 15:04:05.000")
	}
}

// spoolOptions are the settings of SQL*Plus that matter for what it prints.
type spoolOptions struct {
	linesize, pagesize int
	separator          string
	title, crlf, tabs  bool
	noRecordSeparator  bool
	trim               bool
	echo               bool
}

// printSpool prints rows as SQL*Plus does: columns that do not fit in a line
// go to the next, with their headings and rulers likewise; a record that takes
// several lines is followed by an empty one; headings come again on each page.
func printSpool(columns []spoolColumn, rows [][]string, o spoolOptions) string {
	p := spoolPrinter{columns: columns, options: o}
	p.wrap()
	if o.echo {
		p.emit("SQL> select sample_id, sample_time, inst_id, session_id, time_waited,")
		p.emit("  2         event")
		p.emit("  3  from   gv$active_session_history where sample_time > sysdate - 1/24;")
	}
	used := 0
	for n, row := range rows {
		if n == 0 || used+len(p.lines)+1 > o.pagesize {
			p.heading()
			used = 2*len(p.lines) + 1
		}
		for _, which := range p.lines {
			p.cells(which, func(i int) string { return padded(row[i], columns[i]) })
		}
		used += len(p.lines)
		if len(p.lines) > 1 && !o.noRecordSeparator {
			p.emit("")
			used++
		}
	}
	p.emit("")
	p.emit(fmt.Sprintf("%d rows selected.", len(rows)))
	p.emit("")
	if o.echo {
		p.emit("SQL> spool off")
	}
	end := "\n"
	if o.crlf {
		end = "\r\n"
	}
	return strings.Join(p.out, end) + end
}

// spoolPrinter gathers what SQL*Plus prints.
type spoolPrinter struct {
	columns []spoolColumn
	options spoolOptions
	lines   [][]int // numbers of the columns in each line of a record
	out     []string
}

// wrap deals the columns out to lines.
func (p *spoolPrinter) wrap() {
	if p.options.separator == "" {
		p.options.separator = " "
	}
	gap, width := len(p.options.separator), 0
	for i, c := range p.columns {
		if len(p.lines) == 0 || width+gap+c.width > p.options.linesize {
			p.lines, width = append(p.lines, nil), -gap
		}
		p.lines[len(p.lines)-1] = append(p.lines[len(p.lines)-1], i)
		width += gap + c.width
	}
}

func (p *spoolPrinter) emit(line string) {
	if p.options.trim {
		line = strings.TrimRight(line, " ")
	}
	if p.options.tabs {
		line = tabbed(line)
	}
	p.out = append(p.out, line)
}

func (p *spoolPrinter) cells(which []int, cell func(int) string) {
	cells := make([]string, len(which))
	for n, i := range which {
		cells[n] = cell(i)
	}
	p.emit(strings.Join(cells, p.options.separator))
}

func (p *spoolPrinter) heading() {
	p.emit("")
	if p.options.title {
		p.emit("Tue Sep 15                          Weekly look at the commits                 page    1")
		p.emit("")
	}
	for _, which := range p.lines {
		p.cells(which, func(i int) string {
			c := p.columns[i]
			return padded(c.name[:min(len(c.name), c.width)], c)
		})
		p.cells(which, func(i int) string { return strings.Repeat("-", p.columns[i].width) })
	}
}

// padded pads a text to its column, Hangul taking two columns of the screen.
func padded(text string, c spoolColumn) string {
	blanks := strings.Repeat(" ", max(0, c.width-screenWidth([]byte(text))))
	if c.number {
		return blanks + text
	}
	return text + blanks
}

// tabbed puts a tab in the place of blanks that end at a tab stop, as SET TAB ON does.
func tabbed(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i += 8 {
		part := line[i:min(i+8, len(line))]
		if short := strings.TrimRight(part, " "); len(part) == 8 && len(part)-len(short) > 1 {
			part = short + "\t"
		}
		b.WriteString(part)
	}
	return b.String()
}

// printDelimited prints rows as CSV and its relatives.
func printDelimited(columns []spoolColumn, rows [][]string, delimiter string, quoted bool) string {
	var b strings.Builder
	write := func(cells []string) {
		for i, cell := range cells {
			if i > 0 {
				b.WriteString(delimiter)
			}
			if quoted && !columns[i].number {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			b.WriteString(cell)
		}
		b.WriteString("\n")
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	write(names)
	for _, row := range rows {
		write(row)
	}
	return b.String()
}

// The expected waits are those that the rows were made from.
func TestTheSameRowsComeOutOfEveryLayout(t *testing.T) {
	t.Parallel()
	columns := ashSpoolColumns()
	csv := func(delimiter string, quoted bool) func([][]string) string {
		return func(rows [][]string) string { return printDelimited(columns, rows, delimiter, quoted) }
	}
	spooled := func(o spoolOptions) func([][]string) string {
		return func(rows [][]string) string { return printSpool(columns, rows, o) }
	}
	tests := []struct {
		name, times string
		print       func([][]string) string
	}{
		{"CSV", "", csv(",", false)},
		{"CSV with quotes", "", csv(",", true)},
		{"CSV with CRLF and without final line end", "", func(rows [][]string) string {
			return strings.TrimSuffix(strings.ReplaceAll(csv(",", true)(rows), "\n", "\r\n"), "\r\n")
		}},
		{"TSV", "", csv("\t", false)},
		{"semicolons", "", csv(";", true)},
		{"bars", "nls", csv("|", false)},
		{"spool in one line", "", spooled(spoolOptions{linesize: 1000, pagesize: 50000})},
		{"spool with pages", "", spooled(spoolOptions{linesize: 1000, pagesize: 14})},
		{"spool wrapped at 80", "", spooled(spoolOptions{linesize: 80, pagesize: 50000})},
		{"spool wrapped at 80 with pages of 14 lines", "nls", spooled(spoolOptions{linesize: 80, pagesize: 14})},
		{"spool wrapped at 80 without lines between records", "", spooled(spoolOptions{linesize: 80, pagesize: 24, noRecordSeparator: true})},
		{"spool wrapped at 132 with page headings", "", spooled(spoolOptions{linesize: 132, pagesize: 24, title: true})},
		{"spool with CRLF", "", spooled(spoolOptions{linesize: 80, pagesize: 24, crlf: true})},
		{"spool with trimmed lines", "", spooled(spoolOptions{linesize: 80, pagesize: 24, trim: true, title: true})},
		{"spool with tabs", "", spooled(spoolOptions{linesize: 120, pagesize: 24, tabs: true})},
		{"spool with echoed statements", "", spooled(spoolOptions{linesize: 80, pagesize: 24, echo: true})},
		{"spool with commas between padded columns", "nls", spooled(spoolOptions{linesize: 1000, pagesize: 14, separator: ","})},
		{"spool with bars between padded columns", "", spooled(spoolOptions{linesize: 1000, pagesize: 14, separator: " | "})},
		{"wrapped spool with bars", "", spooled(spoolOptions{linesize: 100, pagesize: 24, separator: "|"})},
		{"Korean times in CSV", "korean", csv(",", true)},
		{"Korean times in a spool", "korean", spooled(spoolOptions{linesize: 1000, pagesize: 14})},
		{"Korean times in a wrapped spool", "korean", spooled(spoolOptions{linesize: 80, pagesize: 24})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				rows, want := ashRows(rand.New(rand.NewPCG(seed, 7)), 60, test.times)
				text := test.print(rows)
				records, in := readOracleText(t, text, seoul(t))
				if in.bad.count != 0 {
					t.Fatalf("seed %d: problems %d %q in\n%s", seed, in.bad.count, in.bad.first, text)
				}
				if diff := cmp.Diff(want, records.waits); diff != "" {
					t.Fatalf("seed %d: %s", seed, diff)
				}
			}
		})
	}
}

// In each test the second of three rows is the one that is touched.
func TestSpooledRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const heading = "" +
		"SAMPLE_TIME              EVENT         TIME_WAITED\n" +
		"------------------------ ------------- -----------\n"
	const first = "2026-09-15 09:33:51.212  log file sync      101000\n"
	const third = "2026-09-15 09:33:53.212  log file sync      303000\n"
	tests := []struct {
		name, second string
		want         []int64 // ms waited, -1 where the length could not be read
		problems     int64
		problem      string
	}{
		{"a good row", "2026-09-15 09:33:52.212  log file sync      202000\n", []int64{101, 202, 303}, 0, ""},
		{"overflow", "2026-09-15 09:33:52.212  log file sync ###########\n", []int64{101, -1, 303}, 1, "f:4: TIME_WAITED: printed as #"},
		{"nothing printed", "2026-09-15 09:33:52.212  log file sync\n", []int64{101, -1, 303}, 1, "f:4: TIME_WAITED: no value"},
		{"shifted by a character", " 2026-09-15 09:33:52.212  log file sync      202000\n", []int64{101, 303}, 1, "f:4: not a row"},
		{"text among the rows", "here are some words that are not a row of anything at all\n", []int64{101, 303}, 1, "f:4: not a row"},
		{"a database error among the rows", "ORA-01555: snapshot too old\n", []int64{101, 303}, 1, "f:4: the database answered: ORA-01555"},
		{"a page heading", "\nTue Sep 15   words that head a page\n\n" + heading + "2026-09-15 09:33:52.212  log file sync      202000\n", []int64{101, 202, 303}, 0, ""},
		{"text after a page break that heads no page", "\nTue Sep 15   words that head nothing\n", []int64{101, 303}, 1, "f:5: not a row"},
		{"another result set between", "\nUSERNAME   COUNT(*)\n---------- ----------\nSCOTT              3\n\n" + heading, []int64{101, 303}, 0, ""},
		{"a line of dashes between", strings.Repeat("-", 50) + "\n", []int64{101, 303}, 0, ""},
		{"a form feed", "\f" + heading, []int64{101, 303}, 0, ""},
		{"a footer and a second statement", "\n1 row selected.\n\nElapsed: 00:00:00.04\nSQL> r\n  1* select 1 from dual\n\n" + heading, []int64{101, 303}, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			records, in := readOracleText(t, heading+first+test.second+third, time.UTC)
			wantProblems(t, in, test.problems, test.problem)
			var got []int64
			for _, w := range records.waits {
				ms := w.TimeWaited.Milliseconds()
				if w.TimeWaited < 0 {
					ms = -1
				}
				got = append(got, ms)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValuesWiderThanTheirColumnsAreJoined(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, lines, event string }{
		{"cut at the width", "" +
			"2026-09-15 09:33:51.212  log file parall      101000 oracle@db1\n" +
			"                         el write                    (LGWR)\n", "log file parallel write"},
		{"cut at a blank", "" +
			"2026-09-15 09:33:51.212  log file             101000 oracle@db1\n" +
			"                         parallel write              (LGWR)\n", "log file parallel write"},
		{"cut before a blank", "" +
			"2026-09-15 09:33:51.212  log file parall      101000 oracle@db1\n" +
			"                          write                      (LGWR)\n", "log file parall write"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const heading = "" +
				"SAMPLE_TIME              EVENT           TIME_WAITED PROGRAM\n" +
				"------------------------ --------------- ----------- -----------\n"
			const next = "2026-09-15 09:33:52.212  log file sync        202000 sqlplus\n"
			records, in := readOracleText(t, heading+test.lines+"\n"+next+test.lines+next, time.UTC)
			wantProblems(t, in, 0, "")
			if len(records.waits) != 4 {
				t.Fatalf("%d rows, want 4", len(records.waits))
			}
			for _, i := range []int{0, 2} {
				if w := records.waits[i]; w.Event != test.event || w.Program != "oracle@db1 (LGWR)" {
					t.Errorf("row %d: event %q program %q", i, w.Event, w.Program)
				}
			}
			if w := records.waits[1]; w.Event != "log file sync" || w.Program != "sqlplus" {
				t.Errorf("row 1: event %q program %q", w.Event, w.Program)
			}
		})
	}
}

func TestAWrappedRowThatIsCutDoesNotShiftTheNextOnes(t *testing.T) {
	t.Parallel()
	columns := ashSpoolColumns()
	rows, want := ashRows(rand.New(rand.NewPCG(1, 1)), 20, "")
	whole := strings.SplitAfter(printSpool(columns, rows, spoolOptions{linesize: 80, pagesize: 50000, noRecordSeparator: true}), "\n")
	// The heading takes one empty line and two for each line of a row.
	const perRow = 4
	begin := 1 + 2*perRow
	for missing := range perRow {
		lines := append([]string(nil), whole...)
		at := begin + 5*perRow + missing
		lines = append(lines[:at], lines[at+1:]...)
		records, in := readOracleText(t, strings.Join(lines, ""), seoul(t))
		if in.bad.count == 0 || in.bad.count > 2 {
			t.Errorf("line %d missing: %d problems %q", missing, in.bad.count, in.bad.first)
		}
		rest := append(append([]domain.Wait(nil), want[:5]...), want[6:]...)
		if diff := cmp.Diff(rest, records.waits); diff != "" {
			t.Errorf("line %d missing: %s", missing, diff)
		}
	}
}

func TestQuotedValuesMayHoldLineEnds(t *testing.T) {
	t.Parallel()
	const heading = "SAMPLE_TIME,EVENT,TIME_WAITED,SQL_TEXT\n"
	tests := []struct {
		name, rows string
		waits      int
		problems   int64
		problem    string
	}{
		{"a statement of three lines", "2026-09-15 09:33:51,log file sync,1,\"select 1\n\nfrom dual\"\n2026-09-15 09:33:52,log file sync,2,x\n", 2, 0, ""},
		{"a stray quote costs its own row only", "2026-09-15 09:33:51,log file sync,1,\"select\n2026-09-15 09:33:52,log file sync,2,x\n2026-09-15 09:33:53,log file sync,3,\"y\"\n", 2, 1, "f:2: quoted value does not end"},
		{"a stray quote at the end of the file", "2026-09-15 09:33:51,log file sync,1,x\n2026-09-15 09:33:52,log file sync,2,\"x\n", 1, 1, "f:3: quoted value does not end"},
		{"text behind a quoted value", "2026-09-15 09:33:51,log file sync,1,\"x\"y\n", 0, 1, "f:2: text behind"},
		{"a quote inside a value is part of it", "2026-09-15 09:33:51,log file sync,1,5\" disk\n", 1, 0, ""},
		{"a stray quote does not swallow the file", "2026-09-15 09:33:51,log file sync,1,\"x\n" + strings.Repeat("2026-09-15 09:33:52,log file sync,2,x\n", 1000), 1000, 1, "f:2: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			records, in := readOracleText(t, heading+test.rows, time.UTC)
			wantProblems(t, in, test.problems, test.problem)
			if len(records.waits) != test.waits {
				t.Errorf("%d rows, want %d", len(records.waits), test.waits)
			}
		})
	}
}

func TestHostileResultSetsAreBounded(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, problem string }{
		{"a value over 32 KiB", "SAMPLE_TIME,EVENT,TIME_WAITED\n2026-09-15 09:33:51," + strings.Repeat("x", maxCell+1) + ",1\n", "over 32 KiB"},
		{"columns without end", "SAMPLE_TIME,EVENT,TIME_WAITED\n" + strings.Repeat(",", 100_000) + "\n", "over 1,000 columns"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, in := readOracleText(t, test.text, time.UTC)
			wantProblems(t, in, 1, test.problem)
		})
	}
	t.Run("rulers without end", func(t *testing.T) {
		t.Parallel()
		text := strings.Repeat(strings.Repeat("A ", 400)+"\n"+strings.Repeat("- ", 400)+"\n", 1000)
		records, _ := readOracleText(t, text, time.UTC)
		if len(records.waits) > 0 {
			t.Error("rows out of nothing")
		}
	})
}

func TestOutputBehindAPromptIsRead(t *testing.T) {
	t.Parallel()
	records, in := readOracleText(t, ""+
		"SQL> SQL> SQL>   2    3  \n"+
		"SQL> \"SAMPLE_TIME\",\"EVENT\",\"TIME_WAITED\"\n"+
		"\"2026-09-15 09:33:51.212\",\"log file sync\",101000\n"+
		"SQL> \"2026-09-15 09:33:52.212\",\"log file sync\",202000\n"+
		"SYS@ORDP1> exit\n"+
		"Disconnected from Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\n", time.UTC)
	wantProblems(t, in, 0, "")
	if len(records.waits) != 2 {
		t.Errorf("%d rows, want 2", len(records.waits))
	}
}
