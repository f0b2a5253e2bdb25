package v1alpha1_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestWrittenOnce holds the invariants 1 to 3 of part 40.1 against every hand,
// kubectl edit --subresource=status included.
func TestWrittenOnce(t *testing.T) {
	c := apitest.Client(t)
	const early, late = "2026-04-01T09:00:00Z", "2026-04-01T10:00:00Z"
	stamped := map[string]any{"activatedAt": early, "deactivatedAt": late, "compatibilityRoot": "a"}
	but := func(field string, value any) map[string]any {
		status := maps.Clone(stamped)
		if status[field] = value; value == nil {
			delete(status, field)
		}
		return status
	}

	cases := map[string]struct {
		reason string
		before map[string]any
		after  map[string]any
		want   string
	}{
		"Stamped":           {reason: "Each is written a first time.", after: stamped},
		"OneAfterTheOther":  {reason: "What is set later leaves the rest alone.", before: map[string]any{"activatedAt": early}, after: stamped},
		"CostsBeside":       {reason: "The rest of the status goes on changing.", before: stamped, after: but("ready", "False")},
		"ActivationMoved":   {reason: "It is what all charges are computed from.", before: stamped, after: but("activatedAt", late), want: "status.activatedAt is written once"},
		"ActivationCleared": {reason: "It would be billed anew.", before: stamped, after: but("activatedAt", nil), want: "status.activatedAt is written once"},
		"EndMoved":          {reason: "Charges were settled up to it.", before: stamped, after: but("deactivatedAt", "2026-04-01T11:00:00Z"), want: "status.deactivatedAt is written once"},
		"EndCleared":        {reason: "Nothing reopens what has ended.", before: stamped, after: but("deactivatedAt", nil), want: "status.deactivatedAt is written once"},
		"RootMoved":         {reason: "A family is for life.", before: stamped, after: but("compatibilityRoot", "b"), want: "status.compatibilityRoot is written once"},
		"AllCleared":        {reason: "Not even with the whole status.", before: stamped, after: nil, want: "status.activatedAt is written once"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := object(t, apitest.Namespace(t, c), subscription)
			if err := c.Create(context.Background(), u); err != nil {
				t.Fatal(err)
			}
			set := func(status map[string]any) error {
				if status == nil {
					unstructured.RemoveNestedField(u.Object, "status")
				} else {
					u.Object["status"] = status
				}
				return c.Status().Update(context.Background(), u)
			}
			if tc.before != nil {
				if err := set(tc.before); err != nil {
					t.Fatal(err)
				}
			}
			want := refusal{}
			if tc.want != "" {
				want = refusal{"<nil>", tc.want}
			}
			assertRefused(t, tc.reason, set(tc.after), want)
		})
	}
}

// TestTimesOfALife refuses times that nothing can be charged by. What is written once
// could never be put right: a time of nothing reads as none, so that every later
// write of the status would take it away, and one of a year that the database does not
// have cannot be recorded.
//
// Worse is one that the format allows and no client reads: whoever lists the kind
// fails, and that is the controller and every charge run.
func TestTimesOfALife(t *testing.T) {
	c := apitest.Client(t)
	const refused = "must be a time from 1970 to 9998"
	cases := map[string]struct {
		reason string
		time   string
		want   string
	}{
		"Now":            {reason: "That is when things begin and end.", time: "2026-04-01T09:00:00Z"},
		"First":          {reason: "The first is that of computers.", time: "1970-01-01T00:00:00Z"},
		"Nothing":        {reason: "It is how no time is written.", time: "0001-01-01T00:00:00Z", want: refused},
		"BeforeAllYears": {reason: "There is no year 0.", time: "0000-01-01T00:00:00Z", want: refused},
		"AfterAllYears":  {reason: "In UTC it is a year of five digits.", time: "9999-12-31T23:00:00-02:00", want: refused},
		"SmallLetters":   {reason: "RFC 3339 allows them, and Go does not read them.", time: "2026-04-01t09:00:00z", want: refused},
		"Fraction":       {reason: "The format takes any letter for a point.", time: "2026-04-01T09:00:00x5Z", want: refused},
	}
	for name, tc := range cases {
		for _, field := range []string{"activatedAt", "deactivatedAt", "conditions"} {
			t.Run(name+"/"+field, func(t *testing.T) {
				u := object(t, apitest.Namespace(t, c), subscription)
				if err := c.Create(context.Background(), u); err != nil {
					t.Fatal(err)
				}
				want := refusal{}
				if tc.want != "" {
					want = refusal{"status." + field, tc.want}
				}
				u.Object["status"] = map[string]any{field: tc.time}
				if field == "conditions" {
					if name == "AfterAllYears" {
						return // It is read, and nothing is computed from it.
					}
					u.Object["status"] = map[string]any{field: []any{map[string]any{
						"type": "Ready", "status": "True", "reason": "Tried", "message": "", "lastTransitionTime": tc.time,
					}}}
					want.message = strings.Replace(want.message, refused, "must be of times from 1970 on", 1)
				}
				assertRefused(t, tc.reason, c.Status().Update(context.Background(), u), want)
			})
		}
	}
}

// TestEveryTimeIsLookedAt finds every time of every kind: a rule has to look at it.
func TestEveryTimeIsLookedAt(t *testing.T) {
	root, err := apitest.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "package", "crds", "*.yaml"))
	if err != nil || len(files) != 5 {
		t.Fatalf("want the definitions of five kinds, got %v, %v", files, err)
	}
	times := 0
	var walk func(at string, s apiextensionsv1.JSONSchemaProps, rules string)
	walk = func(at string, s apiextensionsv1.JSONSchemaProps, rules string) {
		for _, r := range s.XValidations {
			rules += r.Rule + "\n"
		}
		if s.Format == "date-time" {
			times++
			if len(s.XValidations) == 0 && !strings.Contains(rules, "c."+at[strings.LastIndex(at, ".")+1:]) {
				t.Errorf("no rule looks at %s", at)
			}
		}
		for name, p := range s.Properties {
			walk(at+"."+name, p, rules)
		}
		if s.Items != nil {
			walk(at+"[]", *s.Items.Schema, rules)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		walk(crd.Spec.Names.Kind, *crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "")
	}
	if times < 14 {
		t.Errorf("only %d times were found, so this shows little", times)
	}
}
