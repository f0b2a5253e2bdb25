package charge

import (
	"math/rand/v2"
	"testing"

	"github.com/provider-finops/provider-finops/internal/testkit/reference"
)

// TestSelects holds the rules of usage sources, specification 40.10.
func TestSelects(t *testing.T) {
	api := Workload{Namespace: "prod", Controller: "api", ControllerKind: "deployment", Pod: "api-7c9-x"}
	backup := Workload{Namespace: "prod", Controller: "backup-29584140", ControllerKind: "job", Pod: "backup-29584140-q"}
	const idleCost = "__idle__"
	idle := Workload{Namespace: idleCost, Controller: "api", ControllerKind: "deployment"}

	cases := map[string]struct {
		reason   string
		source   Source
		workload Workload
		want     bool
	}{
		"Namespace":             {reason: "The broad form selects everything in it.", source: Source{Namespace: "prod"}, workload: api, want: true},
		"OtherNamespace":        {reason: "And nothing elsewhere.", source: Source{Namespace: "test"}, workload: api},
		"Controller":            {reason: "The kind is compared without its case (OPEN-SUB-13).", source: Source{Kind: "Deployment", Name: "api", Namespace: "prod"}, workload: api, want: true},
		"AllHaveToMatch":        {reason: "Fields are combined.", source: Source{Kind: "StatefulSet", Name: "api", Namespace: "prod"}, workload: api},
		"KindAlone":             {reason: "A kind is a filter, whatever the name.", source: Source{Kind: "Deployment"}, workload: api, want: true},
		"NameAlone":             {reason: "A name is that of a controller.", source: Source{Name: "api"}, workload: api, want: true},
		"NameIsNoPod":           {reason: "Not that of a pod.", source: Source{Name: "api-7c9-x"}, workload: api},
		"PodName":               {reason: "Unless the kind says so.", source: Source{Kind: "Pod", Name: "api-7c9-x"}, workload: api, want: true},
		"PodNameIsNoController": {reason: "Then it is not that of a controller.", source: Source{Kind: "Pod", Name: "api"}, workload: api},
		"PodInNamespace":        {reason: "Pod adds no filter of its own.", source: Source{Kind: "Pod", Namespace: "prod"}, workload: backup, want: true},
		"PodAlone":              {reason: "So alone it would select the whole cluster, and is ignored (BETTER-SUB-12).", source: Source{Kind: "Pod"}, workload: api},
		"Nothing":               {reason: "What says nothing selects nothing.", source: Source{}, workload: api},
		"CronJob":               {reason: "A CronJob's pods are reported under its Jobs (OPEN-SUB-14).", source: Source{Kind: "CronJob", Name: "backup"}, workload: backup, want: true},
		"CronJobItself":         {reason: "Or under itself.", source: Source{Kind: "CronJob", Name: "backup"}, workload: Workload{Controller: "backup", ControllerKind: "cronjob"}, want: true},
		"JobOfThatName":         {reason: "Or under a Job of its very name.", source: Source{Kind: "CronJob", Name: "backup"}, workload: Workload{Controller: "backup", ControllerKind: "Job"}, want: true},
		"OtherJob":              {reason: "Only digits follow the name.", source: Source{Kind: "CronJob", Name: "backup"}, workload: Workload{Controller: "backup-db-29584140", ControllerKind: "job"}},
		"JobIsNoCronJob":        {reason: "A Job is selected by its whole name.", source: Source{Kind: "Job", Name: "backup"}, workload: backup},
		"CronJobWithoutName":    {reason: "Which Jobs a CronJob made nobody can tell without its name.", source: Source{Kind: "CronJob", Namespace: "prod"}, workload: backup},
		"IdleByName":            {reason: "Nobody's cost is selected by no name or kind (BETTER-CJ-9).", source: Source{Name: "api"}, workload: idle},
		"IdleByNamespace":       {reason: "Only by its namespace.", source: Source{Namespace: idleCost}, workload: idle, want: true},
		"NoPattern":             {reason: "Names are no patterns.", source: Source{Name: "a%"}, workload: api},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.source.Selects(tc.workload); got != tc.want {
				t.Errorf("%s\n%+v.Selects(%+v): want %t, got %t", tc.reason, tc.source, tc.workload, tc.want, got)
			}
		})
	}
}

// TestSelectsAgrees compares the rule with the one of the reference calculator
// on random sources and rows.
func TestSelectsAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	hour := at("2026-03-05T10:00:00Z")
	selected := 0
	for range 2000 {
		sub := reference.RandomSubscription(r, hour, 1)
		for _, row := range reference.RandomRows(r, hour, nil, 10) {
			for _, s := range sub.Sources {
				w := Workload{Namespace: row.Namespace, Controller: row.Controller, ControllerKind: row.Kind, Pod: row.Pod}
				want, got := s.Selects(row), Source(s).Selects(w)
				if want != got {
					t.Fatalf("%+v on %+v: want %t, got %t", s, w, want, got)
				}
				if got {
					selected++
				}
			}
		}
	}
	if selected < 1000 {
		t.Errorf("Only %d selections: the random world is too empty to say anything", selected)
	}
}
