package charge_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestRecordedAsCharged changes what Subscriptions are charged by while nobody
// mirrors it: the controller is late, away or told to pause. The run records it
// itself, once, before the charges name it. Otherwise an audit would compute final
// charges from what was true before, and find them wrong for ever.
func TestRecordedAsCharged(t *testing.T) {
	s := newStage(t)
	book := s.tariff("EUR", 20000)
	s.offering("both", withMeters(fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000), v1alpha1.MeterCPUHour))
	nul := v1alpha1.UsageSource{Name: "a\x00b"} // It is recorded otherwise, and no other for that.
	for _, name := range []string{"edited", "ended", "let-go", "same"} {
		s.subscription(name, "both", "2026-04-01T09:00:00Z", v1alpha1.UsageSource{Namespace: "app"}, nul)
	}
	s.measure("2026-04-01T09:00:00Z", "api-1", "1", book, true)
	s.measure("2026-04-01T10:00:00Z", "api-1", "1", book, true)
	s.mustRun("2026-04-01T10:00:00Z")

	edited := s.get("edited")
	edited.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: "elsewhere"}}
	s.must(s.api.Update(s.Context(), edited))
	s.end("ended", "2026-04-01T10:15:00Z")
	s.remove("let-go", "2026-04-01T10:30:00Z")
	s.mustRun("2026-04-01T11:00:00Z")
	if !s.gone("let-go") {
		t.Error("The one that is deleted is settled, and still there")
	}

	want := []string{
		"edited 1  app", "edited 2  elsewhere",
		"ended 1  app", "ended 2 10:15 app",
		"let-go 1  app", "let-go 2 10:30 app deleted",
		"same 1  app",
	}
	got := s.lines(`
		SELECT concat_ws(' ', name, row_number() OVER (PARTITION BY uid ORDER BY id),
		                 coalesce(to_char(deactivated_at AT TIME ZONE 'UTC', 'HH24:MI'), ''),
		                 spec -> 'usageSources' -> 0 ->> 'namespace',
		                 CASE WHEN deleted_at IS NOT NULL THEN 'deleted' END)
		  FROM subscriptions ORDER BY name, id`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Versions: each change once, and none where nothing has changed. -want, +got:\n%s", diff)
	}
	s.holds(nil, "2026-04-01T11:00:00Z")
}

// TestRecordedKeepsTheRest records a change of the usage sources of one whose
// newest row says more than a run can see: that is taken over.
func TestRecordedKeepsTheRest(t *testing.T) {
	s := newStage(t)
	offering := s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.subscription("sub", "hourly", "2026-04-01T09:00:00Z")
	s.mustRun("2026-04-01T10:00:00Z")
	s.exec(`INSERT INTO subscriptions (cluster_id, uid, namespace, name, generation, content_hash, spec, offering_namespace, offering_name,
	               offering_uid, parent_uid, activated_at, namespace_labels, valid_from)
	        SELECT cluster_id, uid, namespace, name, generation, 'as the controller writes it', spec, offering_namespace, offering_name,
	               offering_uid, uid, activated_at, '{"stakater.com/tenant": "acme"}', valid_from + interval '1 hour'
	          FROM subscriptions`)
	s.must(s.api.Delete(s.Context(), offering))
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 99000000)) // It has taken the name.
	sub := s.get("sub")
	sub.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: "app"}}
	s.must(s.api.Update(s.Context(), sub))
	s.mustRun("2026-04-01T11:00:00Z")

	got := s.lines(`
		SELECT concat_ws(' ', tenant, parent_uid = uid, offering_uid, spec -> 'usageSources' -> 0 ->> 'namespace', valid_from > '2026-04-01T10:00:00Z')
		  FROM subscriptions ORDER BY id DESC LIMIT 1`)
	if diff := cmp.Diff([]string{"acme t " + string(offering.UID) + " app t"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	s.holds(nil, "2026-04-01T11:00:00Z")
}

// TestRecordedOtherwise charges Subscriptions whose objects tell another life than is
// recorded, and cannot be put right: the API server was restored, and they began or
// ended anew before the database could be asked. What is recorded stands. They are
// charged by it, once, and let go.
func TestRecordedOtherwise(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	lived := func(name, from, to string) {
		s.Helper()
		s.exec(`INSERT INTO subscriptions (cluster_id, uid, namespace, name, generation, content_hash, spec, offering_namespace, offering_name,
		               activated_at, deactivated_at, valid_from)
		        VALUES ($1, $2::text::uuid, $3, $4::text, 1, $4 || $6::text, '{}', $3, 'hourly', $5::text::timestamptz, nullif($6::text, '')::timestamptz, now())`,
			s.cluster, string(s.get(name).UID), s.namespace, name, from, to)
	}
	for _, name := range []string{"begun", "over"} {
		s.subscription(name, "hourly", "2026-04-01T10:10:00Z")
	}
	lived("begun", "2026-04-01T09:00:00Z", "")
	s.remove("over", "2026-04-01T10:40:00Z")
	lived("over", "2026-04-01T10:10:00Z", "2026-04-01T10:20:00Z")
	s.mustRun("2026-04-01T11:00:00Z")
	s.remove("begun", "2026-04-01T11:30:00Z") // Nobody has mirrored that.
	s.mustRun("2026-04-01T12:00:00Z")

	charges := s.charges()
	slices.Sort(charges)
	want := []string{
		"begun 01 09 subscription 40000000", "begun 01 10 subscription 40000000", "begun 01 11 subscription 40000000",
		"over 01 10 subscription 0", "over 01 11 subscription 40000000 {\"closeOut\": true}",
	}
	if diff := cmp.Diff(want, charges); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if !s.gone("begun") || !s.gone("over") {
		t.Errorf("gone: begun %t, over %t", s.gone("begun"), s.gone("over"))
	}
	s.holds(nil, "2026-04-01T12:00:00Z")
}
