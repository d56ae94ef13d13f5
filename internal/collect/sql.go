package collect

import (
	_ "embed" // the script's text
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed collect.sql
var sqlScript string

// blockSeconds is how long one run of the sampling block takes. DBMS_OUTPUT
// gives its lines only when a block ends, and holds them in memory until then:
// a minute's are about 6,000.
const blockSeconds = 60

// SQLOptions are what the SQL*Plus script is made for. Zero values are the defaults.
type SQLOptions struct {
	Duration time.Duration // how long it samples; whole seconds, over a minute rounded up to whole minutes
	// ASH adds rows of V$ACTIVE_SESSION_HISTORY, which needs a licence for the
	// Diagnostics Pack. The script then does nothing unless the one who runs it
	// defines that there is one, and the instance's parameter allows it.
	ASH bool
}

// SQL gives the SQL*Plus script that gathers from one instance what analyze
// reads and spools it to one file. It fails where an option is out of range.
func SQL(o SQLOptions) (string, error) {
	duration, err := seconds("duration", o.Duration, DefaultDuration, longestDuration)
	if err != nil {
		return "", err
	}
	t, err := template.New("collect.sql").Parse(sqlScript)
	if err != nil {
		return "", fmt.Errorf("collect.sql: %w", err)
	}
	block := min(duration, blockSeconds)
	blocks := (duration + block - 1) / block
	var b strings.Builder
	err = t.Execute(&b, map[string]any{
		"Seconds": block,
		"Total":   block * blocks,
		"Again":   make([]struct{}, blocks-1),
		"ASH":     o.ASH,
	})
	if err != nil {
		return "", fmt.Errorf("collect.sql: %w", err)
	}
	return b.String(), nil
}
