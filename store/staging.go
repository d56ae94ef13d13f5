package store

import (
	"fmt"
	"slices"
	"strings"
)

// Staging takes rows that may exist already: they are copied to a temporary
// table like theirs, and merged from there. ctid is the order in which they were
// given; rows are merged in order of their key, so that two writers of the same
// rows do not wait for each other in a circle.

// stageSections sends the rows of all tables through staging.
func stageSections(c *copier, to *target, sections []section) {
	staged := *to
	staged.prefix = stagePrefix
	for _, s := range sections {
		name := s.table.in(to.kept())
		c.exec("CREATE TEMP TABLE "+stagePrefix+name+" (LIKE "+name+") ON COMMIT DROP", "stage "+name)
		copySections(c, &staged, []section{s})
		c.exec(s.table.merge(to.kept()), "merge "+name)
	}
}

// merge gives the statement that takes the rows of the staging table over.
func (t *table) merge(kept bool) string {
	name, keys := t.in(kept), t.keyList(kept)
	preference, action := t.onConflict()
	columns := t.columnList(kept)
	selected := columns
	if t == waitSamples {
		selected = strings.Replace(columns, "period_us", "shortest_us", 1)
	}
	rows := fmt.Sprintf("SELECT DISTINCT ON (%s) %s FROM %s ORDER BY %s, %sctid", keys, columns, stagePrefix+name, keys, preference)
	if t == waitSamples {
		rows = fmt.Sprintf("SELECT DISTINCT ON (%s) %s FROM (SELECT %s, ctid, %s, min(period_us) OVER (PARTITION BY %s) AS shortest_us FROM %s AS s) AS s ORDER BY %s, %sctid",
			keys, selected, columns, waitRank("s"), keys, stagePrefix+name, keys, preference)
	}
	return fmt.Sprintf("INSERT INTO %s AS t (%s) %s ON CONFLICT (%s) DO %s", name, columns, rows, keys, action)
}

// onConflict says which of the rows of one key counts: preference orders those
// of a batch, action decides between the stored one, t, and the one given.
func (t *table) onConflict() (preference, action string) {
	switch t {
	case waitSamples:
		return "rank DESC, time_waited_us DESC NULLS LAST, who DESC, ", t.keepLongerWait()
	case placementSamples, histogramSamples, counterSamples:
		// A run that was read again later may reach further.
		return "until DESC, ", "UPDATE SET " + t.set(func(c string) string { return "excluded." + c }) + " WHERE excluded.until > t.until"
	case interruptSamples:
		// A run that was read again later may reach further. An interval that is as
		// long as several is none of them.
		return "intervals DESC, ", "UPDATE SET " + t.set(func(c string) string { return "excluded." + c }) +
			" WHERE excluded.length_us > t.length_us AND excluded.intervals > t.intervals"
	case coverageGaps:
		return "events DESC NULLS LAST, ", "UPDATE SET events = excluded.events WHERE excluded.events > coalesce(t.events, 1)"
	}
	return "", "NOTHING"
}

// set gives the assignments to all columns that are not of the key.
func (t *table) set(value func(column string) string) string {
	var sets []string
	for _, c := range t.columns {
		if !slices.Contains(t.keys, c) {
			sets = append(sets, c+" = "+value(c))
		}
	}
	return strings.Join(sets, ", ")
}

// waitRank says how much a row of waits tells of its length, 2 which, 1 that
// there is one, 0 nothing yet; and what it tells of who waited.
func waitRank(of string) string { return rankOf(of) + " AS rank, " + whoOf(of) + " AS who" }

func rankOf(row string) string {
	return "CASE WHEN " + row + ".time_waited_us > 0 THEN 2 WHEN " + row + ".time_waited_us IS NULL THEN 1 ELSE 0 END"
}

func whoOf(row string) string {
	return fmt.Sprintf(`coalesce(%[1]s.service, %[1]s.module, %[1]s.machine, %[1]s.program, '') COLLATE "C"`, row)
}

// keepLongerWait keeps the row whose length was fixed up: a known one over one
// that could not be read, over one that is not fixed up; then the longer one;
// then the one of whom more is told, as series do. The period is the shorter one.
func (t *table) keepLongerWait() string {
	row := func(name string) string {
		return fmt.Sprintf("(%s, coalesce(%s.time_waited_us, -1), %s)", rankOf(name), name, whoOf(name))
	}
	better := row("excluded") + " > " + row("t")
	const period = "least(t.period_us, excluded.period_us)"
	set := t.set(func(c string) string {
		if c == "period_us" {
			return period
		}
		return "CASE WHEN " + better + " THEN excluded." + c + " ELSE t." + c + " END"
	})
	return "UPDATE SET " + set + " WHERE " + better + " OR " + period + " IS DISTINCT FROM t.period_us"
}
