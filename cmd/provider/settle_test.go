package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/jobs/charge"
)

// TestPodEnvironment shows that the controller settles by what it tells the pods of
// the collectors, and by nothing else that is said to itself.
func TestPodEnvironment(t *testing.T) {
	given := map[string]string{
		"POSTGRES_CONNECTION_STRING": "postgres://finops@db/finops", "FINOPS_DB_SCHEMA": "finops", "CLUSTER_ID": "blue",
		"MAX_BACKFILL_HOURS": "24", "MAX_CHARGE_MICROS": "1000",
		"OPENCOST_AGGREGATE": "pod", "COSTJOB_NAME": "charges", "COSTJOB_NAMESPACE": "finops", "SCHEDULED_TIMESTAMP": "2026-04-01T10:00:00Z",
	}
	got, err := charge.FromEnvironment(podEnvironment(func(name string) string { return given[name] }))
	if err != nil {
		t.Fatal(err)
	}
	pod, err := charge.FromEnvironment(func(name string) string {
		return map[string]string{
			"POSTGRES_CONNECTION_STRING": "postgres://finops@db/finops", "FINOPS_DB_SCHEMA": "finops", "CLUSTER_ID": "blue",
			"MAX_BACKFILL_HOURS": "24", "MAX_CHARGE_MICROS": "1000", "HOURS_LOOKBACK": podLookback,
		}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pod, got); diff != "" {
		t.Errorf("-pod's, +controller's:\n%s", diff)
	}
}
