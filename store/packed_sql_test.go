package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/store"
)

// What SQL reads is what the store reads: Grafana's views and the rollups stand on
// it.
func TestNumbersReadInSQLAsTheyWere(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		for _, want := range store.NumbersOfAllKinds(rand.New(rand.NewPCG(13, 9))) {
			var got []*int64
			packed := store.Packed(append([]int64(nil), want...))
			if err := d.Pool().QueryRow(t.Context(), `SELECT corewait_numbers($1)`, packed).Scan(&got); err != nil {
				t.Fatalf("%x: %v", packed, err)
			}
			values := make([]int64, len(got))
			for i, v := range got {
				values[i] = store.Unknown
				if v != nil {
					values[i] = *v
				}
			}
			if len(want) != len(got) || len(want) > 0 && !cmp.Equal(want, values) {
				t.Fatalf("%x: got %v, want %v", packed, values, want)
			}
		}
	})
}
