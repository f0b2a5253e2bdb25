package controller

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestParts holds who waits for whom: a kind that is not served stops nobody but
// those that work with it, and together the parts are all kinds.
func TestParts(t *testing.T) {
	all := parts(nil, frame.Options{}, Settings{}, nil)
	cases := map[string]struct {
		reason string
		absent string
		want   int // Parts that start.
	}{
		"FinOpsProvider": {reason: "Nobody else reads it.", absent: "FinOpsProvider", want: len(all) - 1},
		"PriceBook":      {reason: "Prices come from it, and it has a controller of its own.", absent: "PriceBook", want: len(all) - 2},
		"CostJob":        {reason: "Subscriptions are released by it, and it has a controller of its own.", absent: "CostJob", want: len(all) - 2},
		"Offering":       {reason: "It is sold by Subscriptions.", absent: "Offering", want: len(all) - 1},
		"Subscription":   {reason: "They sell Offerings.", absent: "Subscription", want: len(all) - 1},
		"Nothing":        {reason: "Whoever has everything starts.", want: len(all)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			started := 0
			for _, p := range all {
				if !strings.Contains(" "+strings.Join(kindNames(p.kinds), " ")+" ", " "+tc.absent+" ") {
					started++
				}
			}
			if diff := cmp.Diff(tc.want, started); diff != "" {
				t.Errorf("%s\nparts that start: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	for kind := range apitest.Scheme().KnownTypes(v1alpha1.GroupVersion) {
		if !apitest.Scheme().Recognizes(v1alpha1.GroupVersion.WithKind(kind + "List")) {
			continue // Of the machinery, or a list.
		}
		known := false
		for _, p := range all {
			known = known || strings.Contains(" "+strings.Join(kindNames(p.kinds), " ")+" ", " "+kind+" ")
		}
		if !known {
			t.Errorf("No part has kind %s.", kind)
		}
	}
}

// TestUntilGone: a definition that is being deleted waits for its objects, and
// they for their controllers.
func TestUntilGone(t *testing.T) {
	served := meta.NewDefaultRESTMapper(nil)
	served.Add(v1alpha1.SubscriptionGroupVersionKind, meta.RESTScopeNamespace)
	cases := map[string]struct {
		reason string
		kind   schema.GroupVersionKind
		ready  bool
		want   bool
	}{
		"Established": {reason: "Whoever waits for it starts.", kind: v1alpha1.OfferingGroupVersionKind, ready: true, want: true},
		"NotYet":      {reason: "It is not served yet.", kind: v1alpha1.OfferingGroupVersionKind},
		"Leaving":     {reason: "It is being deleted, and served.", kind: v1alpha1.SubscriptionGroupVersionKind, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			opened := make(chan struct{})
			inner := new(gate.Gate[schema.GroupVersionKind])
			g := &untilGone{Gate: inner, mapper: served}
			g.Set(tc.kind, tc.ready)
			inner.Register(func() { close(opened) }, tc.kind)
			if tc.want {
				<-opened // Or the test runs out of time.
				return
			}
			select {
			case <-opened:
				t.Errorf("%s\nThe gate is open.", tc.reason)
			default:
			}
			if changed := inner.Set(tc.kind, true); !changed {
				t.Errorf("%s\nThe gate was open.", tc.reason)
			}
		})
	}
}

// slowMapper tells of a kind only when it has been asked so often.
type slowMapper struct {
	meta.RESTMapper

	asked, tells int
	busy         error // What it says until then, if not that there is no such kind.
}

func (m *slowMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.asked++
	switch {
	case m.asked > m.tells:
		return m.RESTMapper.RESTMapping(kind, versions...)
	case m.busy != nil:
		return nil, m.busy
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
}

// TestTold: a definition is established a moment before the API server tells of
// its kind, and nobody gives up meanwhile.
func TestTold(t *testing.T) {
	served := meta.NewDefaultRESTMapper(nil)
	served.Add(v1alpha1.SubscriptionGroupVersionKind, meta.RESTScopeNamespace)
	busy := errors.New("the server is currently unable to handle the request")
	cases := map[string]struct {
		reason string
		kind   schema.GroupVersionKind
		tells  int
		busy   error
		want   string // Of the error; empty: none.
	}{
		"AtOnce":     {reason: "It may already be told.", kind: v1alpha1.SubscriptionGroupVersionKind},
		"Later":      {reason: "It is asked again.", kind: v1alpha1.SubscriptionGroupVersionKind, tells: 3},
		"Busy":       {reason: "A server that is busy says nothing about the kind.", kind: v1alpha1.SubscriptionGroupVersionKind, tells: 3, busy: busy},
		"Never":      {reason: "Somebody has to hear of it.", kind: v1alpha1.OfferingGroupVersionKind, want: "the API server does not tell of Offering"},
		"AlwaysBusy": {reason: "The server's own words say more.", kind: v1alpha1.SubscriptionGroupVersionKind, tells: math.MaxInt, busy: busy, want: busy.Error()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // A minute takes no time.
				mapper := &slowMapper{RESTMapper: served, tells: tc.tells, busy: tc.busy}
				err := told(t.Context(), mapper, []schema.GroupVersionKind{tc.kind})
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%s\ngot error %v, want it to say %q", tc.reason, err, tc.want)
				}
			})
		})
	}
}

// TestDefinition: what the cache keeps of a definition is what gates look at.
func TestDefinition(t *testing.T) {
	now := metav1.Now()
	full := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: "subscriptions.finops.stakater.com", UID: "u", ResourceVersion: "7", DeletionTimestamp: &now,
			Annotations: map[string]string{"long": strings.Repeat("x", 1000)},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "finops.stakater.com",
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Subscription", Plural: "subscriptions"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{},
			}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}},
	}
	want := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "subscriptions.finops.stakater.com", UID: "u", ResourceVersion: "7", DeletionTimestamp: &now},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group:    "finops.stakater.com",
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: "Subscription"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true}},
		},
		Status: full.Status,
	}
	var other client.Object = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	for name, tc := range map[string]struct{ in, want any }{
		"Definition": {in: full, want: want},
		"Other":      {in: other, want: other},
	} {
		got, err := Definition(tc.in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}
