package store_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/corewait/corewait/store"
)

// TestUUIDsHaveTheFormOfRFC9562: the example is that of its section A.3.
func TestUUIDsHaveTheFormOfRFC9562(t *testing.T) {
	t.Parallel()
	const example = "919108f7-52d1-4320-9bac-f847db4148a8"
	u, err := store.ParseUUID(example)
	if err != nil || u.String() != example {
		t.Errorf("%v: %v", u, err)
	}
	random := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[store.UUID]bool{}
	for range 1_000 {
		u := store.NewUUID()
		if !random.MatchString(u.String()) || seen[u] || u.IsZero() {
			t.Fatalf("%v", u)
		}
		seen[u] = true
	}
	for _, broken := range []string{"", "919108f7", "919108f752d143209bacf847db4148a8", "919108f7-52d1-4320-9bac-f847db4148ag", "9-19108f752d143209bacf847db4148a8-----"[:36]} {
		if u, err := store.ParseUUID(broken); err == nil || !u.IsZero() {
			t.Errorf("%q was read as %v", broken, u)
		}
	}
}

func TestUUIDsAreTextInJSON(t *testing.T) {
	t.Parallel()
	u := store.NewUUID()
	text, err := json.Marshal(u)
	if err != nil || string(text) != `"`+u.String()+`"` {
		t.Errorf("%s: %v", text, err)
	}
	var back store.UUID
	if err := json.Unmarshal(text, &back); err != nil || back != u {
		t.Errorf("%v: %v", back, err)
	}
}
