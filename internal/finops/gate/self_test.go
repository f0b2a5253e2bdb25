package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

func TestSelfTarget(t *testing.T) {
	self := ref.Key{Namespace: "team", Name: "disk"}
	itself := Verdict{TargetIsSelfReference, "subscription team/disk names itself as its target"}
	target := func(apiVersion, kind, namespace, name string) *Target {
		return &Target{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	}

	cases := map[string]struct {
		reason string
		target *Target
		want   Verdict
	}{
		"None":           {reason: "Without a target there is nothing to object to."},
		"Itself":         {reason: "Name, namespace, kind and API are its own.", target: target("finops.stakater.com/v1alpha1", "Subscription", "team", "disk"), want: itself},
		"OtherVersion":   {reason: "A version is a spelling of the same object.", target: target("finops.stakater.com/v1", "Subscription", "team", "disk"), want: itself},
		"OtherName":      {reason: "Another Subscription may be the target.", target: target("finops.stakater.com/v1alpha1", "Subscription", "team", "vm")},
		"OtherNamespace": {reason: "A namesake elsewhere is another Subscription.", target: target("finops.stakater.com/v1alpha1", "Subscription", "blue", "disk")},
		"NoNamespace":    {reason: "A namespace is never filled in, so this names nothing.", target: target("finops.stakater.com/v1alpha1", "Subscription", "", "disk")},
		"OtherKind":      {reason: "An Offering of that name is no Subscription.", target: target("finops.stakater.com/v1alpha1", "Offering", "team", "disk")},
		"OtherGroup":     {reason: "Nor is somebody else's Subscription.", target: target("messaging.knative.dev/v1", "Subscription", "team", "disk")},
		"NoGroup":        {reason: "The core group has no Subscriptions; its name is no version.", target: target("finops.stakater.com", "Subscription", "team", "disk")},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, SelfTarget(self, tc.target)); diff != "" {
				t.Errorf("%s\nSelfTarget(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
