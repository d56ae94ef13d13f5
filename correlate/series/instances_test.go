package series

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/corewait/corewait/domain"
)

// records describes what a builder was fed.
type records struct {
	lgwr      []string // SIDs whose LGWR was seen
	waits     []int    // INST_IDs of waits
	counters  []int    // INST_IDs of V$SYSSTAT
	instances []domain.Instance
	programs  map[int][]string // PROGRAM of background processes by INST_ID
}

func (r *records) builder(t *testing.T) *Builder {
	t.Helper()
	b := newTestBuilder()
	for i, sid := range r.lgwr {
		must(t, b.Placement(placed(0, "ora_lgwr_"+sid, 100+i, 1)))
	}
	for _, id := range r.waits {
		w := sync(1, 10, 100)
		w.InstID = id
		must(t, b.Wait(w))
	}
	for _, id := range r.counters {
		must(t, b.Counter(counter(0, id, 1)))
	}
	for _, i := range r.instances {
		must(t, b.Instance(i))
	}
	for id, programs := range r.programs {
		for _, p := range programs {
			must(t, b.Wait(domain.Wait{At: clock(1), InstID: id, SampleID: 1, Background: true, Program: p}))
		}
	}
	return b
}

func TestInstancesArePairedWithTheirWaits(t *testing.T) {
	t.Parallel()
	rac := []domain.Instance{{InstID: 1, Name: "ORDP1", Host: "db1.example.com"}, {InstID: 2, Name: "ORDP2", Host: "db2.example.com"}}
	none := Choice{Node: "db1", InstID: AnyInstID}
	tests := []struct {
		name    string
		records records
		want    Choice
		choices []Choice
		warning string // "" for none
		flag    string // of the error; "" for none
	}{
		{"one LGWR and no Oracle records", records{lgwr: []string{"ORDP1"}}, none, []Choice{{"db1", "ORDP1", AnyInstID}}, "", ""},
		{"two LGWRs and no Oracle records", records{lgwr: []string{"TEST1", "ORDP1"}}, none, []Choice{{"db1", "ORDP1", AnyInstID}, {"db1", "TEST1", AnyInstID}}, "", ""},
		{"nothing at all", records{}, none, []Choice{{"db1", "", AnyInstID}}, "", ""},
		{"one LGWR, waits without INST_ID", records{lgwr: []string{"ORDP1"}, waits: []int{-1}}, none, []Choice{{"db1", "ORDP1", AnyInstID}}, "", ""},
		{"one LGWR, waits of one INST_ID", records{lgwr: []string{"ORDP1"}, waits: []int{1}}, none, []Choice{{"db1", "ORDP1", 1}}, "", ""},
		{"some waits without INST_ID count with the rest", records{lgwr: []string{"ORDP1"}, waits: []int{1, -1}}, none, []Choice{{"db1", "ORDP1", 1}}, "", ""},
		{"one LGWR, two INST_IDs and nothing that tells", records{lgwr: []string{"ORDP1"}, waits: []int{1, 2}}, none, nil, "", "--inst-id"},
		{"two INST_IDs and V$INSTANCE", records{lgwr: []string{"ORDP2"}, waits: []int{1, 2}, instances: rac}, none, []Choice{{"db1", "ORDP2", 2}}, "", ""},
		{"V$INSTANCE in other case", records{lgwr: []string{"ordp2"}, waits: []int{1, 2}, instances: rac}, none, []Choice{{"db1", "ordp2", 2}}, "", ""},
		{
			"two INST_IDs and background processes that name their hosts",
			records{lgwr: []string{"ORDP"}, waits: []int{1, 2}, programs: map[int][]string{1: {"oracle@db1.example.com (LGWR)"}, 2: {"oracle@db2 (LGWR)"}}},
			none, []Choice{{"db1", "ORDP", 1}}, "", "",
		},
		{
			"an INST_ID whose processes name two hosts is of neither for certain",
			records{lgwr: []string{"ORDP"}, waits: []int{1, 2}, programs: map[int][]string{1: {"oracle@db1 (LGWR)", "oracle@db3 (LGWR)"}}},
			none, nil, "", "--inst-id",
		},
		{"--inst-id decides", records{lgwr: []string{"ORDP1"}, waits: []int{1, 2}}, Choice{"db1", "", 2}, []Choice{{"db1", "ORDP1", 2}}, "", ""},
		{"--instance and --inst-id decide among several", records{lgwr: []string{"ORDP1", "TEST1"}, waits: []int{1, 2}}, Choice{"db1", "TEST1", 1}, []Choice{{"db1", "TEST1", 1}}, "", ""},
		{"--instance in other case is the one that was seen", records{lgwr: []string{"ORDP1", "TEST1"}, waits: []int{1}}, Choice{"db1", "ordp1", AnyInstID}, []Choice{{"db1", "ORDP1", 1}}, "", ""},
		{"--instance stands as given where no name is known", records{waits: []int{1}}, Choice{"db1", "HR1", AnyInstID}, []Choice{{"db1", "HR1", 1}}, "", ""},
		{"--inst-id stands as given where no row has one", records{lgwr: []string{"ORDP1"}, waits: []int{-1}}, Choice{"db1", "", 2}, []Choice{{"db1", "ORDP1", 2}}, "", ""},
		{
			"two LGWRs paired by V$INSTANCE",
			records{lgwr: []string{"ORDP1", "TEST1"}, waits: []int{1, 2}, instances: []domain.Instance{{InstID: 1, Name: "TEST1"}, {InstID: 2, Name: "ORDP1"}}},
			none, []Choice{{"db1", "ORDP1", 2}, {"db1", "TEST1", 1}}, "", "",
		},
		{"two LGWRs paired by the number at the end of the SID", records{lgwr: []string{"A1", "B2"}, waits: []int{1, 2}}, none, []Choice{{"db1", "A1", 1}, {"db1", "B2", 2}}, "INST_ID 1 is taken for A1", ""},
		{"two LGWRs, waits of one only", records{lgwr: []string{"A1", "B2"}, waits: []int{2}}, none, []Choice{{"db1", "A1", NoInstID}, {"db1", "B2", 2}}, "INST_ID 2 is taken for B2", ""},
		{"two LGWRs that end in the same number", records{lgwr: []string{"A1", "B1"}, waits: []int{1, 2}}, none, nil, "", "--instance"},
		{"two LGWRs and nothing that tells", records{lgwr: []string{"A", "B"}, waits: []int{1}}, none, nil, "", "--instance"},
		{"an ending that fits two INST_IDs tells nothing", records{lgwr: []string{"A11", "B2"}, waits: []int{1, 2, 11}}, none, []Choice{{"db1", "A11", NoInstID}, {"db1", "B2", 2}}, "INST_ID 2 is taken for B2", ""},
		{"no LGWR, one INST_ID, named by V$INSTANCE", records{waits: []int{2}, instances: rac}, Choice{Node: "db2", InstID: AnyInstID}, []Choice{{"db2", "ORDP2", 2}}, "", ""},
		{"no LGWR, two INST_IDs, one of which runs here", records{waits: []int{1, 2}, instances: rac}, none, []Choice{{"db1", "ORDP1", 1}}, "", ""},
		{"no LGWR, two INST_IDs and nothing that tells", records{waits: []int{1, 2}}, none, nil, "", "--inst-id"},
		{"counters tell where there are no waits", records{lgwr: []string{"ORDP1"}, counters: []int{3}}, none, []Choice{{"db1", "ORDP1", 3}}, "", ""},
		{"waits count before counters", records{lgwr: []string{"ORDP1"}, waits: []int{1}, counters: []int{1, 2}}, none, []Choice{{"db1", "ORDP1", 1}}, "", ""},
		{
			"the only waits are the partner's, as V$INSTANCE says",
			records{lgwr: []string{"ORDP1"}, waits: []int{2}, instances: rac},
			none, []Choice{{"db1", "ORDP1", NoInstID}}, "INST_ID 2, which is ORDP2 on db2", "",
		},
		{"the only waits are the partner's, but --inst-id says otherwise", records{lgwr: []string{"ORDP1"}, waits: []int{2}, instances: rac}, Choice{"db1", "", 2}, []Choice{{"db1", "ORDP1", 2}}, "", ""},
		{
			"an instance may be named otherwise than its SID",
			records{lgwr: []string{"ORCL"}, waits: []int{1}, instances: []domain.Instance{{InstID: 1, Name: "orders", Host: "db1.example.com"}}},
			none, []Choice{{"db1", "ORCL", 1}}, "", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, warnings, err := tt.records.builder(t).Instances(tt.want)
			if tt.flag != "" {
				var ambiguous *AmbiguousError
				if !errors.As(err, &ambiguous) || ambiguous.Flag != tt.flag || !strings.Contains(err.Error(), "choose with "+tt.flag) {
					t.Fatalf("got %v and error %v, want an AmbiguousError of %s", got, err, tt.flag)
				}
				return
			}
			must(t, err)
			if !slices.Equal(got, tt.choices) {
				t.Errorf("got %v, want %v", got, tt.choices)
			}
			if tt.warning == "" && len(warnings) > 0 || tt.warning != "" && (len(warnings) == 0 || !strings.Contains(warnings[0], tt.warning)) {
				t.Errorf("warnings: got %q, want %q", warnings, tt.warning)
			}
		})
	}
}

func TestSeveralInstancesGetTheirOwnRecords(t *testing.T) {
	t.Parallel()
	r := records{lgwr: []string{"A1", "B2"}, waits: []int{1, 2, 2}}
	b := r.builder(t)
	choices, _, err := b.Instances(Choice{Node: "db1", InstID: AnyInstID})
	must(t, err)
	for i, want := range []string{"ora_lgwr_A1", "ora_lgwr_B2"} {
		s := b.Build(choices[i])
		if len(s.Threads) != 1 || s.Threads[0].Command != want || len(s.Waits) != 1 || len(s.Partner) != 1 {
			t.Errorf("%v: got threads %+v, waits %v, partner %v", choices[i], s.Threads, s.Waits, s.Partner)
		}
	}
	// A second build of the same choice gives the same.
	if a, z := b.Build(choices[0]), b.Build(choices[0]); !reflect.DeepEqual(a, z) {
		t.Error("two builds of one choice differ")
	}
}

func TestHostsOfBackgroundProcesses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, host string
		ok            bool
	}{
		{"oracle@db1 (LGWR)", "db1", true},
		{"oracle@DB1.example.com (DBW0)", "db1", true},
		{"oracle@db1", "", false},
		{"sqlplus.exe", "", false},
		{"oracle@ (LGWR)", "", false},
		{"", "", false},
	} {
		host, ok := backgroundHost(tt.program)
		if ok != tt.ok || ok && host != tt.host {
			t.Errorf("%q: got %q, %t; want %q, %t", tt.program, host, ok, tt.host, tt.ok)
		}
	}
}
