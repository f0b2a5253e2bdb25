package subscription_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestLivedTwice has the API server restored from a copy of before an activation,
// or an end, while the database is away: there is nobody to ask, so both happen
// anew. When the database is back it knows otherwise, and an object on which all is
// written once cannot be put right. It says what it is charged by, and it can still
// be ended, deleted and settled.
func TestLivedTwice(t *testing.T) {
	r := start(t)
	unrecorded := func(l look) look { l.Synced = "False/ReconcileError"; return l }
	// lived records a life that the object does not know of.
	lived := func(s *v1alpha1.Subscription, from, to time.Time) {
		t.Helper()
		_, err := r.pool.Exec(t.Context(), `
			INSERT INTO subscriptions (cluster_id, uid, namespace, name, generation, content_hash, spec, offering_namespace, offering_name,
			       activated_at, deactivated_at, valid_from)
			VALUES ('default', $1::text::uuid, $2, $3, 1, $4::timestamptz::text, '{}', $2, 'plain', $4, nullif($5, $4), $5)`,
			string(s.UID), s.Namespace, s.Name, from, to)
		if err != nil {
			t.Fatal(err)
		}
	}
	told := func(s *v1alpha1.Subscription, what string) {
		t.Helper()
		apitest.Eventually(t, "what "+s.Name+" is charged by", func(ctx context.Context) error {
			if err := r.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
				return err
			}
			if got := message(s, v1alpha1.TypeReady); strings.Count(got, what) != 1 {
				return fmt.Errorf("Ready says %q, want %q in it", got, what)
			}
			return nil
		})
	}
	r.offer("plain", fee)

	r.source.away(errAway)
	begun, over := r.subscribe("begun", "", "plain"), r.subscribe("over", "", "plain")
	for _, s := range []*v1alpha1.Subscription{begun, over} {
		r.becomes(s, unrecorded(billed))
	}
	if err := r.Delete(t.Context(), over); err != nil {
		t.Fatal(err)
	}
	r.becomes(over, unrecorded(gone))
	lived(begun, noon.Add(-time.Hour), noon.Add(-time.Hour))
	lived(over, noon.Add(-time.Hour), noon.Add(-time.Minute))
	r.source.away(nil)
	r.becomes(begun, billed)
	told(begun, "it was activated at 2026-03-02T11:00:00Z, as the database knows")
	r.becomes(over, gone)
	told(over, "it ended at 2026-03-02T11:59:00Z, as the database knows")

	r.clock.SetTime(noon.Add(time.Hour))
	if err := r.Delete(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	r.becomes(begun, gone)
	told(begun, "it was activated at 2026-03-02T11:00:00Z, as the database knows")
	r.becomes(r.subscribe("bystander", "", "plain"), billed) // By whom it can be told that time passes.
	r.resyncs(20)
	r.writes.Take()
	r.resyncs(20)
	if w := append(r.written(begun), r.written(over)...); len(w) > 0 {
		t.Errorf("who has been told is written again: %v", w)
	}
	for s, want := range map[*v1alpha1.Subscription]string{begun: "11:00-13:00", over: "11:00-11:59"} {
		var got string
		err := r.pool.QueryRow(t.Context(), `
			SELECT to_char(activated_at AT TIME ZONE 'UTC', 'HH24:MI') || to_char(deactivated_at AT TIME ZONE 'UTC', '-HH24:MI')
			  FROM subscriptions WHERE uid = $1::text::uuid ORDER BY id DESC LIMIT 1`, string(s.UID)).Scan(&got)
		if err != nil || got != want {
			t.Errorf("the last version of %s tells of a life of %s, want %s, %v", s.Name, got, want, err)
		}
	}
}
