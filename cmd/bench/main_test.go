package main

import (
	"math"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestEveryGoalIsMeasured measures everything at a size that takes no time. How
// fast something is says nothing then, and nobody looks: it is about the product
// and what it is measured on, which have to fit together.
func TestEveryGoalIsMeasured(t *testing.T) {
	log.SetLogger(logr.Discard())
	dsn := pgtest.Admin(t).ConnString()
	t.Setenv("KUBEBUILDER_ASSETS", apitest.Assets(t))
	root, err := apitest.Root()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)

	all := goals()
	results := bench.Run(t.Context(), &bench.Env{PostgresDSN: dsn, Scale: 0.001, Progress: t.Output()}, all, time.Now)
	if len(results) != len(all) {
		t.Fatalf("%d goals have %d results", len(all), len(results))
	}
	for _, r := range results {
		if r.Err != "" {
			t.Errorf("%s cannot be measured: %s", r.ID, r.Err)
			continue
		}
		if math.IsNaN(r.Ratio) || math.IsInf(r.Ratio, 0) || r.Measure.Limit <= 0 || r.Measure.Unit == "" {
			t.Errorf("%s is no figure: %+v", r.ID, r.Measure)
		}
	}
}
