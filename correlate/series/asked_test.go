package series

import (
	"errors"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

func TestWhatTheRecordsDoNotHoldIsRefused(t *testing.T) {
	t.Parallel()
	rac := []domain.Instance{{InstID: 1, Name: "ORDP1", Host: "db1"}, {InstID: 2, Name: "ORDP2", Host: "db2"}}
	tests := []struct {
		name    string
		records records
		want    Choice
		says    string // "" for no error
	}{
		{"an instance beside the LGWR that was seen", records{lgwr: []string{"ORDP1"}, waits: []int{1}}, Choice{"db1", "HR1", AnyInstID}, "--instance HR1: no such instance in these files, which hold ORDP1"},
		{"an instance that V$INSTANCE does not list", records{waits: []int{1}, instances: rac}, Choice{"db1", "HR1", AnyInstID}, "--instance HR1: no such instance in these files, which hold ORDP1, ORDP2"},
		{"an instance that V$INSTANCE lists in other case", records{waits: []int{1}, instances: rac}, Choice{"db1", "ordp1", 1}, ""},
		// The kernel keeps 15 bytes: ora_lgwr_ORDPRO is of ORDPROD1 or ORDPROD2.
		{"an instance whose process's command was cut", records{lgwr: []string{"ORDPRO"}, waits: []int{2}, instances: []domain.Instance{{InstID: 2, Name: "ORDPROD2"}}}, Choice{"db1", "ORDPROD1", 2}, ""},
		{"an INST_ID that waits do not have", records{lgwr: []string{"ORDP1"}, waits: []int{1, 2}}, Choice{"db1", "", 3}, "--inst-id 3: none of Oracle's rows has it; they have 1, 2"},
		{"an INST_ID that counters do not have", records{counters: []int{4}}, Choice{"db1", "", 3}, "--inst-id 3: none of Oracle's rows has it; they have 4"},
		{"an INST_ID that only V$INSTANCE has", records{waits: []int{1}, instances: rac}, Choice{"db2", "", 2}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := tt.records.builder(t).Instances(tt.want)
			var absent *AbsentError
			switch {
			case tt.says == "" && err != nil:
				t.Errorf("error %v", err)
			case tt.says != "" && (!errors.As(err, &absent) || err.Error() != tt.says):
				t.Errorf("error %v, want %q", err, tt.says)
			}
		})
	}
}

// Placements are of seconds 0 to 10 and one commit wait is of second 20: a
// window keeps at most an hour before 0 and an hour after 20.
func TestAWindowReachesAnHourBeyondTheRecordsAtMost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		from, to float64
		want     Span
	}{
		{"within the hours on each side it stands as asked for", -3599, 3619, span(-3599, 3619)},
		{"within the records it stands as asked for", 2, 8, span(2, 8)},
		{"centuries around become two hours and the records", -4e9, 4e9, span(-3600, 3620)},
		{"each side is cut by itself", 1, 4e9, span(1, 3620)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := NewBuilder(domain.WatchLGWR(), domain.Window{From: clock(tt.from), To: clock(tt.to)})
			for sec := range 11 {
				must(t, b.Placement(placed(float64(sec), "ora_lgwr_ORDP1", 7, 1)))
			}
			must(t, b.Wait(sync(20, 10, 100)))
			if got := b.Build(anyInstance).Window; got != tt.want {
				t.Errorf("window %v to %v, want %v to %v", ToTime(got.From).Format(time.RFC3339), ToTime(got.To).Format(time.RFC3339), ToTime(tt.want.From).Format(time.RFC3339), ToTime(tt.want.To).Format(time.RFC3339))
			}
		})
	}
}
