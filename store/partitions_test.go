package store_test

import (
	"testing"
	"time"
)

// TestPartitionsAreMadeForDaysInUTC: one minute before midnight in Seoul it is
// 14:59 in UTC of the same day, one minute after as well.
func TestPartitionsAreMadeForDaysInUTC(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.needsPartitions()
	seoul := time.FixedZone("KST", 9*3600)
	for range 2 { // what exists stays
		d.partitions(time.Date(2026, 11, 30, 23, 59, 0, 0, seoul), time.Date(2026, 12, 1, 0, 1, 0, 0, seoul))
		d.wantLines([]string{"waits_p20261130"}, partitionsOf, "waits")
		d.wantLines([]string{"wait_rollups_p202611"}, partitionsOf, "wait_rollups")
	}
	if err := d.CreatePartitions(t.Context(), utc(t, "2026-11-30 00:00:00"), utc(t, "2028-11-30 00:00:00")); err == nil {
		t.Error("partitions for two years were made")
	}
}

func TestPartitionsAreMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.needsPartitions()
	atOnce(8, func(int) {
		if err := d.CreatePartitions(t.Context(), utc(t, "2026-11-30 00:00:00"), utc(t, "2026-12-01 00:00:00")); err != nil {
			t.Error(err)
		}
	})
	d.wantLines([]string{"waits_p20261130", "waits_p20261201"}, partitionsOf, "waits")
}
