package files

import "strings"

// maxResultColumns bounds the columns of a result set; V$ACTIVE_SESSION_HISTORY of
// release 23 has about 120, a table at most 1,000 (4,096 since 23).
const maxResultColumns = 1000

// oracleColumns finds the columns of a result set by name.
type oracleColumns map[string]int

// newOracleColumns numbers the headings; of equal ones the first counts, as in
// a join that selects the same column twice.
func newOracleColumns(names []string) oracleColumns {
	c := make(oracleColumns, len(names))
	for i, name := range names {
		if name = columnName(name); name == "" {
			continue
		}
		if _, known := c[name]; !known {
			c[name] = i
		}
	}
	return c
}

// columnName gives the name that a heading stands for: upper case, without
// quotes and qualifier, and what a conversion was applied to where SQL*Plus
// prints the expression.
func columnName(heading string) string {
	name := strings.ToUpper(strings.Trim(strings.TrimSpace(heading), `"`))
	name = strings.ReplaceAll(name, " ", "")
	for _, call := range []string{"TO_CHAR(", "CAST("} {
		if inner, ok := strings.CutPrefix(name, call); ok {
			// An hour of 1 to 12 without its half of the day cannot be read.
			if call == "TO_CHAR(" && !strings.Contains(inner, "HH24") {
				return name
			}
			name, _, _ = strings.Cut(inner, ",")
			name = strings.TrimSuffix(name, "ASDATE)")
		}
	}
	if inner, ok := strings.CutPrefix(name, "SYS_EXTRACT_UTC("); ok {
		return strings.TrimSuffix(inner, ")") + "_UTC"
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return name
}

// first gives the column of the first name that there is; -1 where there is none.
func (c oracleColumns) first(names ...string) int {
	for _, name := range names {
		if i, known := c[name]; known {
			return i
		}
	}
	return -1
}

// has says whether there is one of the columns.
func (c oracleColumns) has(names ...string) bool { return c.first(names...) >= 0 }

// hasAll says whether there are all of them.
func (c oracleColumns) hasAll(names ...string) bool {
	for _, name := range names {
		if !c.has(name) {
			return false
		}
	}
	return true
}

// kind says which view the columns are of. Views of single sessions or
// services have the columns of the system's own and are told by their keys.
func (c oracleColumns) kind() (Kind, bool) {
	partial := c.has("SID", "SERVICE_NAME", "SERVICE_NAME_HASH")
	switch {
	case c.has("EVENT", "EVENT_NAME") && c.has("WAIT_COUNT") && c.has("WAIT_TIME_MILLI", "WAIT_TIME_MICRO"):
		return KindEventHistogram, true
	case c.has("EVENT", "EVENT_NAME") && c.has("TOTAL_WAITS"):
		return KindSystemEvent, !partial && c.has("TIME_WAITED", "TIME_WAITED_MICRO")
	case c.hasAll("EVENT", "TIME_WAITED") && c.has("SAMPLE_TIME", "SAMPLE_TIME_UTC"):
		return KindASH, true
	case c.hasAll("INSTANCE_NAME", "HOST_NAME"):
		return KindInstance, true
	case c.hasAll("NAME", "IP_ADDRESS", "IS_PUBLIC"):
		return KindInterconnects, true
	case c.has("NAME", "STAT_NAME") && c.has("VALUE"):
		// V$PARAMETER and V$PGASTAT have names and values as well.
		return KindSysstat, !partial && !c.has("TYPE", "DISPLAY_VALUE", "ISDEFAULT", "UNIT")
	default:
		return "", false
	}
}

// snapshotTimes are the names under which people select the time of a reading.
// Each is also taken with _UTC behind it, which says its zone.
func snapshotTimes() []string {
	return []string{
		"SNAP_TIME", "SNAPSHOT_TIME", "SAMPLE_TIME", "COLLECTION_TIME", "COLLECTED_AT", "CAPTURE_TIME",
		"READ_TIME", "READ_AT", "LOG_TIME", "SYSTIMESTAMP", "CURRENT_TIMESTAMP", "SYSDATE", "TS", "TSTAMP",
		"TIMESTAMP", "DATE_TIME", "NOW", "AT", "TIME", "END_INTERVAL_TIME",
	}
}

// snapshotTime finds the column that holds the time of a reading, -1 where
// there is none, and says whether its name makes it UTC.
func (c oracleColumns) snapshotTime() (column int, utc bool) {
	for _, name := range snapshotTimes() {
		if i, known := c[name+"_UTC"]; known {
			return i, true
		}
	}
	return c.first(snapshotTimes()...), false
}

// isTimeColumn says whether a column holds the time that its rows cannot do without.
func isTimeColumn(name string) bool {
	name = strings.TrimSuffix(name, "_UTC")
	for _, known := range snapshotTimes() {
		if name == known {
			return true
		}
	}
	return false
}

// isNumberColumn says whether SQL*Plus aligns a column to the right.
func isNumberColumn(name string) bool {
	switch name {
	case "SAMPLE_ID", "INST_ID", "INSTANCE_NUMBER", "SNAP_ID", "DBID", "CON_ID", "CON_DBID",
		"SESSION_ID", "SESSION_SERIAL#", "USER_ID", "TIME_WAITED", "WAIT_TIME", "P1", "P2", "P3", "SEQ#",
		"EVENT_ID", "EVENT#", "USECS_PER_ROW", "SERVICE_HASH", "WAIT_TIME_MILLI", "WAIT_TIME_MICRO",
		"WAIT_COUNT", "TOTAL_WAITS", "TIME_WAITED_MICRO", "STATISTIC#", "VALUE":
		return true
	default:
		return false
	}
}

// fullColumnName gives the column behind a heading that SQL*Plus cut to the
// column's width, as it does for text and time columns (never for numbers).
// A heading that may be of several columns stays as it is.
func fullColumnName(heading string, width int) string {
	if len(heading) != width || width < 3 {
		return heading
	}
	name := strings.ToUpper(heading)
	if name == "SESSION" { // SESSION_STATE is VARCHAR2(7), SESSION_TYPE VARCHAR2(10)
		return "SESSION_STATE"
	}
	found := heading
	for _, full := range []string{
		"SESSION_STATE", "SESSION_TYPE", "WAIT_CLASS", "PROGRAM", "MODULE", "MACHINE", "EVENT",
		"INSTANCE_NAME", "HOST_NAME", "IP_ADDRESS", "IS_PUBLIC", "SOURCE", "LAST_UPDATE_TIME",
	} {
		if name == full || isTimeColumn(name) {
			return name
		}
		if strings.HasPrefix(full, name) {
			if found != heading {
				return heading
			}
			found = full
		}
	}
	return found
}
