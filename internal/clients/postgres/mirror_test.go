package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

const (
	cluster = "default"
	uidA    = "00000000-0000-4000-8000-00000000000a"
	uidB    = "00000000-0000-4000-8000-00000000000b"
	uidC    = "00000000-0000-4000-8000-00000000000c"
	uidD    = "00000000-0000-4000-8000-00000000000d"
)

var aprilNoon = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

func offering(uid, name, spec string) postgres.Offering {
	return postgres.Offering{Object: postgres.Object{
		Namespace: "catalog", Name: name, UID: uid, Generation: 1, Spec: json.RawMessage(spec),
		Labels: map[string]string{"tier": "gold"},
	}}
}

func subscription(uid, name string, change ...func(*postgres.Subscription)) postgres.Subscription {
	s := postgres.Subscription{
		Object: postgres.Object{
			Namespace: "team-a", Name: name, UID: uid, Generation: 1, Spec: json.RawMessage(`{"offeringRef":{"name":"base"}}`),
		},
		OfferingNamespace: "catalog",
		OfferingName:      "base",
		NamespaceLabels:   map[string]string{"stakater.com/tenant": "acme"},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func childOf(uid, name string) func(*postgres.Subscription) {
	return func(s *postgres.Subscription) {
		s.ParentUID, s.ParentNamespace, s.ParentName = uid, "team-a", name
	}
}

func TestHash(t *testing.T) {
	base := subscription(uidA, "web")

	cases := map[string]struct {
		reason string
		other  postgres.Subscription
		want   bool
	}{
		"SameContentOtherLayout": {
			reason: "The controller and the charge run encode the same spec by different ways.",
			other: subscription(uidA, "web", func(s *postgres.Subscription) {
				s.Spec = json.RawMessage(`{ "parentRef" : null , "offeringRef":{"name":"base"}}`)
			}),
			want: true,
		},
		"LabelsAreNoVersion": {
			reason: "Labels of the object are stored with a version, but do not make one.",
			other:  subscription(uidA, "web", func(s *postgres.Subscription) { s.Labels = map[string]string{"a": "b"} }),
			want:   true,
		},
		"GenerationIsNoVersion": {
			reason: "A generation moves for defaults that a new CRD brings; the content says whether anything changed.",
			other:  subscription(uidA, "web", func(s *postgres.Subscription) { s.Generation = 7 }),
			want:   true,
		},
		"Spec": {
			reason: "OPEN-DB-6: the spec makes a version.",
			other:  subscription(uidA, "web", func(s *postgres.Subscription) { s.Spec = json.RawMessage(`{}`) }),
		},
		"NamespaceLabels": {
			reason: "OPEN-DB-6: a namespace that goes to another tenant makes a version.",
			other:  subscription(uidA, "web", func(s *postgres.Subscription) { s.NamespaceLabels = nil }),
		},
		"Activation": {
			reason: "OPEN-DB-6: timestamps make a version.",
			other:  subscription(uidA, "web", func(s *postgres.Subscription) { s.ActivatedAt = aprilNoon }),
		},
		"Root": {
			reason: "OPEN-DB-6: the root makes a version.",
			other:  subscription(uidA, "web", func(s *postgres.Subscription) { s.CompatibilityRoot = uidB }),
		},
		"AdoptedOffering": {
			reason: "BETTER-OFF-5: whose terms apply is kept, so it makes a version.",
			other:  subscription(uidA, "web", func(s *postgres.Subscription) { s.OfferingUID = uidB }),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want, err := base.Hash()
			if err != nil {
				t.Fatal(err)
			}
			got, err := tc.other.Hash()
			if err != nil {
				t.Fatal(err)
			}
			if (got == want) != tc.want {
				t.Errorf("%s\nsame hash: want %t, got %t", tc.reason, tc.want, got == want)
			}
		})
	}
}

func TestHashOfTimes(t *testing.T) {
	kathmandu := time.FixedZone("+0545", 5*3600+45*60)
	inUTC := subscription(uidA, "web", func(s *postgres.Subscription) { s.ActivatedAt = aprilNoon })
	elsewhere := subscription(uidA, "web", func(s *postgres.Subscription) {
		s.ActivatedAt = aprilNoon.In(kathmandu).Add(300 * time.Millisecond)
	})
	want, err := inUTC.Hash()
	if err != nil {
		t.Fatal(err)
	}
	got, err := elsewhere.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the API keeps whole seconds of UTC, so parts of one and zones must not make a version: -want, +got:\n%s", diff)
	}
}

func TestHashKeepsDigits(t *testing.T) {
	big := offering(uidA, "base", `{"priceMicros":9007199254740993}`)
	near := offering(uidA, "base", `{"priceMicros":9007199254740992}`)
	a, err := big.Hash()
	if err != nil {
		t.Fatal(err)
	}
	b, err := near.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if a == b {
		t.Error("two prices that a float cannot tell apart have one hash")
	}
}

func TestStoreOfferings(t *testing.T) {
	db := pgtest.Database(t)
	ctx := t.Context()

	store := func(at time.Time, offerings ...postgres.Offering) []postgres.Version {
		t.Helper()
		got, err := postgres.StoreOfferings(ctx, db.Pool, cluster, at, offerings...)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	ignoreHash := cmpopts.IgnoreFields(postgres.Version{}, "ContentHash")

	// Many objects in one statement; answers come in the order of uids.
	got := store(aprilNoon, offering(uidB, "second", `{"n":1}`), offering(uidA, "first", `{"n":1}`))
	want := []postgres.Version{{UID: uidA, ID: 1, New: true}, {UID: uidB, ID: 2, New: true}}
	if diff := cmp.Diff(want, got, ignoreHash); diff != "" {
		t.Fatalf("first store: -want, +got:\n%s", diff)
	}

	// Equal content writes nothing at all: the server's own counters say so.
	before := pgtest.Changes(t, db.Pool)
	got = store(aprilNoon.Add(time.Hour), offering(uidA, "first", `{ "n": 1 }`), offering(uidB, "second", `{"n":1}`))
	want = []postgres.Version{{UID: uidA, ID: 1}, {UID: uidB, ID: 2}}
	if diff := cmp.Diff(want, got, ignoreHash); diff != "" {
		t.Errorf("equal content: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, pgtest.Changes(t, db.Pool)); diff != "" {
		t.Errorf("equal content changed rows: -before, +after:\n%s", diff)
	}

	// A resolved price makes a version; going back makes another, although the
	// clock stands still.
	resolved := offering(uidA, "first", `{"n":1}`)
	resolved.ResolvedPricing = json.RawMessage(`{"meters":[]}`)
	store(aprilNoon.Add(2*time.Hour), resolved)
	got = store(aprilNoon.Add(2*time.Hour), offering(uidA, "first", `{"n":1}`))
	want = []postgres.Version{{UID: uidA, ID: 4, New: true}}
	if diff := cmp.Diff(want, got, ignoreHash); diff != "" {
		t.Errorf("there and back: -want, +got:\n%s", diff)
	}

	// Only what has no row at all.
	got, err := postgres.StoreMissingOfferings(ctx, db.Pool, cluster, aprilNoon, resolved, offering(uidC, "third", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	want = []postgres.Version{{UID: uidA, ID: 4}, {UID: uidC, ID: 5, New: true}}
	if diff := cmp.Diff(want, got, ignoreHash); diff != "" {
		t.Errorf("missing only: -want, +got:\n%s", diff)
	}

	// Another cluster in the same database knows nothing of these.
	others, err := postgres.LatestOfferings(ctx, db.Pool, "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]postgres.LatestOffering{}, others, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("another cluster's offerings: -want, +got:\n%s", diff)
	}
}

func TestRecordedOfferings(t *testing.T) {
	db := pgtest.Database(t)
	ctx := t.Context()

	first, second := offering(uidA, "base", `{"price":1}`), offering(uidB, "base", `{"price":2}`)
	if _, err := postgres.StoreOfferings(ctx, db.Pool, cluster, aprilNoon, first); err != nil {
		t.Fatal(err)
	}
	if n, err := postgres.MarkOfferingsDeleted(ctx, db.Pool, cluster, aprilNoon.Add(time.Hour), uidA); n != 1 || err != nil {
		t.Fatalf("marking the first as deleted: %d rows, %v", n, err)
	}
	if _, err := postgres.StoreOfferings(ctx, db.Pool, cluster, aprilNoon.Add(2*time.Hour), second); err != nil {
		t.Fatal(err)
	}

	gone := aprilNoon.Add(time.Hour)
	recordedA := postgres.RecordedOffering{ID: 1, UID: uidA, Namespace: "catalog", Name: "base", Spec: json.RawMessage(`{"price": 1}`), DeletedAt: &gone}
	recordedB := postgres.RecordedOffering{ID: 2, UID: uidB, Namespace: "catalog", Name: "base", Spec: json.RawMessage(`{"price": 2}`)}

	cases := map[string]struct {
		reason string
		keys   []postgres.OfferingKey
		want   []postgres.RecordedOffering
	}{
		"ByUID": {
			reason: "BETTER-OFF-5: whose name went to another is still found by uid.",
			keys:   []postgres.OfferingKey{{UID: uidA}},
			want:   []postgres.RecordedOffering{recordedA},
		},
		"ByName": {
			reason: "By name it is the one that held the name last.",
			keys:   []postgres.OfferingKey{{Namespace: "catalog", Name: "base"}},
			want:   []postgres.RecordedOffering{recordedB},
		},
		"ManyAtOnce": {
			reason: "A run asks once, however many it needs, and gets each row once.",
			keys: []postgres.OfferingKey{
				{UID: uidA}, {UID: uidB}, {UID: uidC}, {Namespace: "catalog", Name: "base"}, {Namespace: "catalog", Name: "other"},
			},
			want: []postgres.RecordedOffering{recordedA, recordedB},
		},
		"None": {
			reason: "Nothing asked, nothing read.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := postgres.RecordedOfferings(ctx, db.Pool, cluster, tc.keys...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSubscriptionsMirror(t *testing.T) {
	db := pgtest.Database(t)
	ctx := t.Context()

	// a <- b <- c, where b will go; d is alone and will go too.
	active := func(s *postgres.Subscription) {
		s.ActivatedAt, s.OfferingUID, s.CompatibilityRoot = aprilNoon.Add(-time.Hour), uidD, uidA
	}
	stored, err := postgres.StoreSubscriptions(ctx, db.Pool, cluster, aprilNoon,
		subscription(uidA, "a", active), subscription(uidB, "b", active, childOf(uidA, "a")),
		subscription(uidC, "c", active, childOf(uidB, "b")), subscription(uidD, "d"))
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) != 4 {
		t.Fatalf("stored: want 4 versions, got %d", len(stored))
	}

	gone := aprilNoon.Add(time.Hour)
	if n, err := postgres.MarkSubscriptionsDeleted(ctx, db.Pool, cluster, gone, uidB, uidD); n != 2 || err != nil {
		t.Fatalf("marking two as deleted: %d rows, %v", n, err)
	}
	before := pgtest.Changes(t, db.Pool)
	if n, err := postgres.MarkSubscriptionsDeleted(ctx, db.Pool, cluster, gone.Add(time.Hour), uidB, uidD); n != 0 || err != nil {
		t.Errorf("marking them again: %d rows, %v", n, err)
	}
	if diff := cmp.Diff(before, pgtest.Changes(t, db.Pool)); diff != "" {
		t.Errorf("marking again changed rows: -before, +after:\n%s", diff)
	}

	got, err := postgres.LatestSubscriptions(ctx, db.Pool, cluster)
	if err != nil {
		t.Fatal(err)
	}
	activated := aprilNoon.Add(-time.Hour)
	row := func(id int64, uid, name, parentUID, parent string) postgres.LatestSubscription {
		l := postgres.LatestSubscription{
			ID: id, UID: uid, Namespace: "team-a", Name: name, ContentHash: stored[id-1].ContentHash, OfferingUID: uidD,
			CompatibilityRoot: uidA, ActivatedAt: &activated,
		}
		if parent != "" {
			l.ParentUID, l.ParentNamespace, l.ParentName = parentUID, "team-a", parent
		}
		return l
	}
	tombstone := row(2, uidB, "b", uidA, "a")
	tombstone.DeletedAt = &gone
	want := []postgres.LatestSubscription{row(1, uidA, "a", "", ""), tombstone, row(3, uidC, "c", uidB, "b")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the living, and the dead in between them: -want, +got:\n%s", diff)
	}

	// What comes in late about a uid that is gone does not bring it back.
	late := subscription(uidD, "d", func(s *postgres.Subscription) { s.DeactivatedAt = aprilNoon })
	if _, err := postgres.StoreSubscriptions(ctx, db.Pool, cluster, aprilNoon.Add(2*time.Hour), late); err != nil {
		t.Fatal(err)
	}
	again, err := postgres.LatestSubscriptions(ctx, db.Pool, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("after a late version: -want, +got:\n%s", diff)
	}
}

// TestStoreWhatPostgreSQLCannot mirrors an object that holds a character which
// no text of PostgreSQL can, beside one that does not.
func TestStoreWhatPostgreSQLCannot(t *testing.T) {
	db := pgtest.Database(t)
	odd := subscription(uidA, "odd", func(s *postgres.Subscription) {
		s.Annotations = map[string]string{"note": "a\x00b", "path": `C:\u0000`}
		s.Spec = json.RawMessage(`{"usageSources":[{"name":"x\u0000y"}],"n":12345678901234567890}`)
	})
	stored, err := postgres.StoreSubscriptions(t.Context(), db.Pool, cluster, aprilNoon, odd, subscription(uidB, "even"))
	if err != nil || len(stored) != 2 {
		t.Fatalf("want both, got %v, %v", stored, err)
	}
	var got string
	err = db.Pool.QueryRow(t.Context(), `SELECT concat_ws(' ', annotations ->> 'note', annotations ->> 'path',
		spec #>> '{usageSources,0,name}', spec ->> 'n') FROM subscriptions WHERE name = 'odd'`).Scan(&got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a\uFFFDb C:\\u0000 x\uFFFDy 12345678901234567890", got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
