package compose

import (
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"
)

// object reads an object, or an input, as it would arrive.
func object(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("cannot read %q: %v", text, err)
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatalf("cannot encode %q: %v", text, err)
	}
	return s
}

// input is that of a step with these resources.
func input(t *testing.T, rest string) *structpb.Struct {
	t.Helper()
	return object(t, "apiVersion: pt.fn.crossplane.io/v1beta1\nkind: Resources\n"+rest)
}

// An answer is what a step says, in short.
type answer struct {
	Composite map[string]any            // Desired, without its kind.
	Composed  map[string]map[string]any // Desired.
	Ready     []string                  // Which of them.
	Warnings  []string
	Fatal     string
}

func run(t *testing.T, req *fnv1.RunFunctionRequest) answer {
	t.Helper()
	rsp, err := Function{}.RunFunction(t.Context(), req)
	if err != nil {
		t.Fatalf("an answer carries its error inside, got %v", err)
	}
	a := answer{Composed: map[string]map[string]any{}, Composite: rsp.GetDesired().GetComposite().GetResource().AsMap()}
	delete(a.Composite, "apiVersion")
	delete(a.Composite, "kind")
	for name, r := range rsp.GetDesired().GetResources() {
		a.Composed[name] = r.GetResource().AsMap()
		if r.GetReady() == fnv1.Ready_READY_TRUE {
			a.Ready = append(a.Ready, name)
		}
	}
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			a.Fatal = r.GetMessage()
		} else {
			a.Warnings = append(a.Warnings, r.GetMessage())
		}
	}
	return a
}

var sorted = cmp.Options{cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b string) bool { return a < b })}

const tenant = `{apiVersion: example.org/v1, kind: Tenant, metadata: {name: acme}, spec: {team: web, size: 3, list: [{a: 1}, {a: 2}]}}`

func TestPatches(t *testing.T) {
	made := func(spec map[string]any) map[string]map[string]any {
		return map[string]map[string]any{"thing": {"kind": "Thing", "spec": spec}}
	}
	kept := func(spec map[string]any) map[string]map[string]any {
		return map[string]map[string]any{"thing": {"kind": "Thing", "spec": spec, "metadata": map[string]any{"name": "acme-1"}}}
	}
	cases := map[string]struct {
		reason   string
		patches  string
		base     string // Of the resource; empty: a Thing with an empty spec.
		observed string // The resource; empty: it does not exist.
		want     answer
	}{
		"Copy": {
			reason:  "A value goes to another field, and by default to the same.",
			patches: "[{fromFieldPath: spec.team}, {type: FromCompositeFieldPath, fromFieldPath: spec.size, toFieldPath: spec.deep.number}]",
			want:    answer{Composed: made(map[string]any{"team": "web", "deep": map[string]any{"number": 3.0}})},
		},
		"CopyList": {
			reason:  "A list is a value like any other, and goes as a whole.",
			patches: "[{fromFieldPath: spec.list}]",
			want:    answer{Composed: made(map[string]any{"list": []any{map[string]any{"a": 1.0}, map[string]any{"a": 2.0}}})},
		},
		"Index": {
			reason:  "One item of a list.",
			patches: "[{fromFieldPath: 'spec.list[1].a', toFieldPath: 'spec.items[0]'}]",
			want:    answer{Composed: made(map[string]any{"items": []any{2.0}})},
		},
		"Wildcard": {
			reason:  "A wildcard writes to every item that has the field already, and to no other.",
			base:    "{kind: Thing, spec: {ports: [{num: 1, name: ''}, {num: 2}]}}",
			patches: "[{fromFieldPath: spec.team, toFieldPath: 'spec.ports[*].name'}]",
			want: answer{Composed: made(map[string]any{"ports": []any{
				map[string]any{"num": 1.0, "name": "web"}, map[string]any{"num": 2.0},
			}})},
		},
		"WildcardNowhere": {
			reason:  "A wildcard that fits nothing is an error.",
			base:    "{kind: Thing, spec: {ports: []}}",
			patches: "[{fromFieldPath: spec.team, toFieldPath: 'spec.ports[*].name'}]",
			want:    answer{Fatal: `cannot render composed resource "thing" "FromCompositeFieldPath" patch at index 0: cannot expand ToFieldPath spec.ports[*].name`},
		},
		"OptionalMissing": {
			reason:  "What is not there is not patched, and nobody is told.",
			patches: "[{fromFieldPath: spec.none}, {fromFieldPath: spec.team}]",
			want:    answer{Composed: made(map[string]any{"team": "web"})},
		},
		"RequiredMissingNew": {
			reason:  "A required field holds its resource back.",
			patches: "[{fromFieldPath: spec.team}, {fromFieldPath: spec.none, policy: {fromFieldPath: Required}}]",
			want: answer{Warnings: []string{
				`not adding new composed resource "thing" to desired state because "FromCompositeFieldPath" patch at index 1 has 'policy.fromFieldPath: Required': spec.none: no such field`,
			}},
		},
		"RequiredMissingExists": {
			reason:   "A resource that exists stays, without the field, and later patches go on.",
			patches:  "[{fromFieldPath: spec.none, policy: {fromFieldPath: Required}}, {fromFieldPath: spec.team}]",
			observed: "{kind: Thing, metadata: {name: acme-1}, spec: {none: old}}",
			want: answer{Composed: kept(map[string]any{"team": "web"}), Warnings: []string{
				`cannot render composed resource "thing" "FromCompositeFieldPath" patch at index 0: ignoring 'policy.fromFieldPath: Required' because 'to' resource already exists: spec.none: no such field`,
			}},
		},
		"Combine": {
			reason:  "Several values make a text.",
			patches: "[{type: CombineFromComposite, toFieldPath: spec.name, combine: {strategy: string, variables: [{fromFieldPath: metadata.name}, {fromFieldPath: spec.team}], string: {fmt: '%s-%s'}}}]",
			want:    answer{Composed: made(map[string]any{"name": "acme-web"})},
		},
		"CombineMissing": {
			reason:  "If one of them is missing there is no text.",
			patches: "[{type: CombineFromComposite, toFieldPath: spec.name, combine: {strategy: string, variables: [{fromFieldPath: metadata.name}, {fromFieldPath: spec.none}], string: {fmt: '%s-%s'}}}]",
			want:    answer{Composed: made(map[string]any{})},
		},
		"ToCompositeNew": {
			reason:  "Nothing is taken from what does not exist, required or not.",
			patches: "[{type: ToCompositeFieldPath, fromFieldPath: status.id, policy: {fromFieldPath: Required}}]",
			want:    answer{Composed: made(map[string]any{})},
		},
		"ToComposite": {
			reason:   "What is observed goes to the status of the composite, lists as a whole.",
			patches:  "[{type: ToCompositeFieldPath, fromFieldPath: status.conditions, toFieldPath: status.thing.conditions}, {type: CombineToComposite, toFieldPath: status.text, combine: {strategy: string, variables: [{fromFieldPath: metadata.name}], string: {fmt: 'it is %s'}}}]",
			observed: "{kind: Thing, metadata: {name: acme-1}, status: {conditions: [{type: Synced, status: 'True'}]}}",
			want: answer{
				Composed: kept(map[string]any{}),
				Composite: map[string]any{"status": map[string]any{
					"text":  "it is acme-1",
					"thing": map[string]any{"conditions": []any{map[string]any{"type": "Synced", "status": "True"}}},
				}},
			},
		},
		"ToCompositeMissing": {
			reason:   "A required field that is missing is told, and left out.",
			patches:  "[{type: ToCompositeFieldPath, fromFieldPath: status.id, policy: {fromFieldPath: Required}}]",
			observed: "{kind: Thing, metadata: {name: acme-1}}",
			want: answer{Composed: kept(map[string]any{}), Warnings: []string{
				`cannot render composed resource "thing" "ToCompositeFieldPath" patch at index 0: ignoring 'policy.fromFieldPath: Required' because 'to' resource already exists: status: no such field`,
			}},
		},
		"BadTransform": {
			reason:  "An error that is not about a missing field stops everything.",
			patches: "[{fromFieldPath: spec.team, transforms: [{type: map, map: {shop: 1}}]}]",
			want:    answer{Fatal: `cannot render composed resource "thing" "FromCompositeFieldPath" patch at index 0: transform at index 0: key web is not found in map`},
		},
		"NotAnArray": {
			reason:  "Neither is a path that does not fit a missing field.",
			patches: "[{fromFieldPath: 'spec.team[0]'}]",
			want:    answer{Fatal: `cannot render composed resource "thing" "FromCompositeFieldPath" patch at index 0: spec.team: not an array`},
		},
		"PatchSet": {
			reason:  "The patches of a set stand where it is named.",
			patches: "[{type: PatchSet, patchSetName: team}]",
			want:    answer{Composed: made(map[string]any{"team": "web"})},
		},
		"NamePatched": {
			reason:   "A name may be patched; Crossplane keeps that of what exists.",
			patches:  "[{fromFieldPath: metadata.name, toFieldPath: metadata.name, transforms: [{type: string, string: {type: Format, fmt: '%s-plan'}}]}]",
			observed: "{kind: Thing, metadata: {name: acme-1}}",
			want:     answer{Composed: map[string]map[string]any{"thing": {"kind": "Thing", "metadata": map[string]any{"name": "acme-plan"}, "spec": map[string]any{}}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			base := tc.base
			if base == "" {
				base = "{kind: Thing, spec: {}}"
			}
			req := &fnv1.RunFunctionRequest{
				Input: input(t, "patchSets: [{name: team, patches: [{fromFieldPath: spec.team}]}]\n"+
					"resources: [{name: thing, base: "+base+", patches: "+tc.patches+"}]"),
				Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: object(t, tenant)}},
			}
			if tc.observed != "" {
				req.Observed.Resources = map[string]*fnv1.Resource{"thing": {Resource: object(t, tc.observed)}}
			}
			if diff := cmp.Diff(tc.want, run(t, req), sorted); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTransforms(t *testing.T) {
	cases := map[string]struct {
		reason string
		chain  string
		from   any
		want   any
		bad    bool
	}{
		"Format":        {reason: "A format takes one value.", chain: "[{type: string, string: {type: Format, fmt: '%s-plan'}}]", from: "acme", want: "acme-plan"},
		"Upper":         {reason: "Letters.", chain: "[{type: string, string: {type: Convert, convert: ToUpper}}]", from: "acme", want: "ACME"},
		"Lower":         {reason: "Letters.", chain: "[{type: string, string: {type: Convert, convert: ToLower}}]", from: "Daily", want: "daily"},
		"TrimPrefix":    {reason: "A prefix goes.", chain: "[{type: string, string: {type: TrimPrefix, trim: 'PO-'}}]", from: "PO-7", want: "7"},
		"TrimSuffix":    {reason: "One that is not there does not.", chain: "[{type: string, string: {type: TrimSuffix, trim: 'x'}}]", from: "PO-7", want: "PO-7"},
		"Regexp":        {reason: "A group of a match.", chain: "[{type: string, string: {type: Regexp, regexp: {match: '(\\w+)-(\\w+)', group: 2}}}]", from: "acme-web", want: "web"},
		"RegexpNoMatch": {reason: "No match is an error.", chain: "[{type: string, string: {type: Regexp, regexp: {match: '^\\d+$'}}}]", from: "acme", bad: true},
		"Map":           {reason: "A map gives any value.", chain: "[{type: map, map: {gold: 3, none: null}}]", from: "gold", want: 3.0},
		"MapUnknown":    {reason: "A key that is missing is an error.", chain: "[{type: map, map: {gold: 3}}]", from: "lead", bad: true},
		"MapNumber":     {reason: "A key is a text.", chain: "[{type: map, map: {'3': x}}]", from: 3.0, bad: true},
		"MatchLiteral":  {reason: "The first that fits.", chain: "[{type: match, match: {patterns: [{type: literal, literal: a, result: 1}, {type: regexp, regexp: '^a', result: 2}], fallbackValue: 9}}]", from: "ab", want: 2.0},
		"MatchFallback": {reason: "None fits: the fallback.", chain: "[{type: match, match: {patterns: [{type: literal, literal: a, result: 1}], fallbackValue: 9}}]", from: "b", want: 9.0},
		"MatchInput":    {reason: "Or what came in.", chain: "[{type: match, match: {patterns: [{type: literal, literal: a, result: 1}], fallbackTo: Input}}]", from: "b", want: "b"},
		"MatchNull":     {reason: "Or nothing.", chain: "[{type: match, match: {patterns: [{type: literal, literal: a, result: 1}]}}]", from: "b", want: nil},
		"MatchUntyped":  {reason: "The original refuses a pattern that names no type when it gets there.", chain: "[{type: match, match: {patterns: [{literal: a, result: 1}]}}]", from: "a", bad: true},
		"ToInt":         {reason: "A text of digits.", chain: "[{type: convert, convert: {toType: int64}}]", from: "12", want: int64(12)},
		"NotInt":        {reason: "Others are an error.", chain: "[{type: convert, convert: {toType: int64}}]", from: "1.5", bad: true},
		"ToBool":        {reason: "A text that says so.", chain: "[{type: convert, convert: {toType: bool}}]", from: "true", want: true},
		"FromBool":      {reason: "And back.", chain: "[{type: convert, convert: {toType: string}}]", from: true, want: "true"},
		"FromNumber":    {reason: "A whole number has no point and no exponent, however it arrived.", chain: "[{type: convert, convert: {toType: string}}]", from: 171750000.0, want: "171750000"},
		"FromList":      {reason: "A list is not converted.", chain: "[{type: convert, convert: {toType: string}}]", from: []any{}, bad: true},
		"Chain":         {reason: "One after the other.", chain: "[{type: convert, convert: {toType: string}}, {type: string, string: {type: Format, fmt: '%s micros'}}]", from: 5.0, want: "5 micros"},
		"Unknown":       {reason: "What is not in the subset is refused.", chain: "[{type: string, string: {type: Join}}]", from: "a", bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var chain []Transform
			if err := yaml.Unmarshal([]byte(tc.chain), &chain); err != nil {
				t.Fatal(err)
			}
			got, err := tc.from, error(nil)
			for _, tr := range chain {
				if got, err = tr.resolve(got); err != nil {
					got = nil
					break
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.bad, err != nil); diff != "" {
				t.Errorf("%s\nrefused (%v): -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestReadiness(t *testing.T) {
	const isReady = "{kind: Thing, metadata: {name: a}, spec: {num: 3, lit: true, word: yes-it-is}, status: {conditions: [{type: Synced, status: 'False'}, {type: Ready, status: 'True'}]}}"
	const isNot = "{kind: Thing, metadata: {name: a}, spec: {num: 3}, status: {conditions: [{type: Synced, status: 'True'}, {type: Ready, status: 'False'}]}}"
	cases := map[string]struct {
		reason   string
		checks   string
		observed string
		want     bool
		warnings int
	}{
		"Default":        {reason: "It says so itself.", checks: "[]", observed: isReady, want: true},
		"DefaultNot":     {reason: "It says that it is not.", checks: "[]", observed: isNot},
		"DefaultSilent":  {reason: "It says nothing.", checks: "[]", observed: "{kind: Thing, metadata: {name: a}}"},
		"None":           {reason: "Existing is enough.", checks: "[{type: None}]", observed: isNot, want: true},
		"Condition":      {reason: "Another condition decides.", checks: "[{type: MatchCondition, matchCondition: {type: Synced, status: 'True'}}]", observed: isNot, want: true},
		"ConditionNot":   {reason: "Another condition decides.", checks: "[{type: MatchCondition, matchCondition: {type: Synced, status: 'True'}}]", observed: isReady},
		"NonEmpty":       {reason: "A field is there.", checks: "[{type: NonEmpty, fieldPath: spec.word}]", observed: isReady, want: true},
		"NonEmptyNot":    {reason: "A field is not there.", checks: "[{type: NonEmpty, fieldPath: spec.word}]", observed: isNot},
		"String":         {reason: "A field says this.", checks: "[{type: MatchString, fieldPath: spec.word, matchString: yes-it-is}]", observed: isReady, want: true},
		"Integer":        {reason: "A number is this, though it arrives as a float.", checks: "[{type: MatchInteger, fieldPath: spec.num, matchInteger: 3}]", observed: isReady, want: true},
		"True":           {reason: "A switch is on.", checks: "[{type: MatchTrue, fieldPath: spec.lit}]", observed: isReady, want: true},
		"False":          {reason: "A switch is on, not off.", checks: "[{type: MatchFalse, fieldPath: spec.lit}]", observed: isReady},
		"All":            {reason: "All have to pass.", checks: "[{type: MatchTrue, fieldPath: spec.lit}, {type: MatchInteger, fieldPath: spec.num, matchInteger: 4}]", observed: isReady},
		"OfAnotherType":  {reason: "A check that cannot be made is told, and is not passed.", checks: "[{type: MatchString, fieldPath: spec.num, matchString: '3'}]", observed: isReady, warnings: 1},
		"OnlyMentioned":  {reason: "Checks replace the default.", checks: "[{type: MatchInteger, fieldPath: spec.num, matchInteger: 3}]", observed: isNot, want: true},
		"NotThereAtAll":  {reason: "What does not exist is not ready.", checks: "[{type: None}]"},
		"UnknownOfField": {reason: "A kind of check that is unknown is told.", checks: "[{type: MatchFloat, fieldPath: spec.num}]", observed: isReady, warnings: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := &fnv1.RunFunctionRequest{
				Input:    input(t, "resources: [{name: thing, base: {kind: Thing}, readinessChecks: "+tc.checks+"}]"),
				Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: object(t, tenant)}},
			}
			if tc.observed != "" {
				req.Observed.Resources = map[string]*fnv1.Resource{"thing": {Resource: object(t, tc.observed)}}
			}
			got := run(t, req)
			if diff := cmp.Diff(tc.want, len(got.Ready) == 1); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.warnings, len(got.Warnings)); diff != "" {
				t.Errorf("%s\nwarnings: -want, +got:\n%s\n%q", tc.reason, diff, got.Warnings)
			}
		})
	}
}

// The step after: whatever nobody has judged is judged by its Ready condition.
func TestAutoReady(t *testing.T) {
	ready, not := "{kind: Thing, status: {conditions: [{type: Ready, status: 'True'}]}}", "{kind: Thing, status: {conditions: [{type: Ready, status: 'Unknown'}]}}"
	thing := func(text string, r fnv1.Ready) *fnv1.Resource {
		return &fnv1.Resource{Resource: object(t, text), Ready: r}
	}
	got := run(t, &fnv1.RunFunctionRequest{
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: object(t, tenant)},
			Resources: map[string]*fnv1.Resource{"ready": thing(ready, 0), "not": thing(not, 0), "judged": thing(ready, 0), "undesired": thing(ready, 0)},
		},
		Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{
			"ready":  thing("{kind: Thing}", fnv1.Ready_READY_UNSPECIFIED),
			"not":    thing("{kind: Thing}", fnv1.Ready_READY_UNSPECIFIED),
			"judged": thing("{kind: Thing}", fnv1.Ready_READY_FALSE),
			"new":    thing("{kind: Thing}", fnv1.Ready_READY_UNSPECIFIED),
		}},
	})
	if diff := cmp.Diff([]string{"ready"}, got.Ready, sorted); diff != "" {
		t.Errorf("only what exists, says so, and was not judged before\n-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(4, len(got.Composed)); diff != "" {
		t.Errorf("what is desired stays desired\n-want, +got:\n%s", diff)
	}
}

// A step between: what is not ordered is left out.
func TestFilter(t *testing.T) {
	const xr = "{apiVersion: example.org/v1, kind: Tenant, metadata: {name: acme}, spec: {plan: small, addOns: {backup: true, audit: false}}}"
	cases := map[string]struct {
		reason  string
		filters string
		want    []string
		fatal   string
	}{
		"Holds":        {reason: "What it holds for stays.", filters: "[{name: backup, expression: observed.composite.resource.spec.addOns.backup == true}]", want: []string{"plan", "backup", "audit"}},
		"HoldsNot":     {reason: "What it does not hold for is left out, the rest is not.", filters: "[{name: audit, expression: observed.composite.resource.spec.addOns.audit == true}]", want: []string{"plan", "backup"}},
		"Text":         {reason: "Text is compared too.", filters: "[{name: plan, expression: 'observed.composite.resource.spec.plan == \"large\"'}]", want: []string{"backup", "audit"}},
		"AllOfTheName": {reason: "A name is all of the name.", filters: "[{name: back, expression: 'false'}]", want: []string{"plan", "backup", "audit"}},
		"Pattern":      {reason: "A name is a regular expression.", filters: "[{name: '(backup|audit)', expression: 'false'}]", want: []string{"plan"}},
		"Either":       {reason: "One that does not hold is enough.", filters: "[{name: plan, expression: 'true'}, {name: plan, expression: 'false'}]", want: []string{"backup", "audit"}},
		"AsItWas": {
			reason: "What one filter leaves out, another one still sees.", want: []string{"plan", "backup"},
			filters: "[{name: audit, expression: 'false'}, {name: plan, expression: '\"audit\" in desired.resources'}]",
		},
		"Missing":    {reason: "A field that is not there ends nothing.", filters: "[{name: audit, expression: observed.composite.resource.spec.addOns.web == true}]", fatal: "no such key: web"},
		"Nothing":    {reason: "Nor does an expression that says neither.", filters: "[{name: audit, expression: observed.composite.resource.spec.addOns.audit}]", fatal: "it is a dyn, not a bool"},
		"Number":     {reason: "Nor one of another type.", filters: "[{name: audit, expression: '1'}]", fatal: "it is a int, not a bool"},
		"Unreadable": {reason: "Nor one that is none.", filters: "[{name: audit, expression: '=='}]", fatal: "Syntax error"},
		"Name":       {reason: "A name has to be an expression.", filters: "[{name: '(', expression: 'true'}]", fatal: "cannot read the name of filter 0"},
		"More":       {reason: "What this function does not know it refuses.", filters: "[{name: audit, expression: 'true', unless: it}]", fatal: `unknown field "unless"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			thing := func() *fnv1.Resource { return &fnv1.Resource{Resource: object(t, "{kind: Thing}")} }
			got := run(t, &fnv1.RunFunctionRequest{
				Input:    object(t, "{apiVersion: cel.fn.crossplane.io/v1beta1, kind: Filters, filters: "+tc.filters+"}"),
				Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: object(t, xr)}},
				Desired:  &fnv1.State{Resources: map[string]*fnv1.Resource{"plan": thing(), "backup": thing(), "audit": thing()}},
			})
			if (tc.fatal == "") != (got.Fatal == "") || !strings.Contains(got.Fatal, tc.fatal) {
				t.Fatalf("%s\nfatal: got %q, want %q", tc.reason, got.Fatal, tc.fatal)
			}
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(got.Composed)), sorted); diff != "" && tc.fatal == "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	cases := map[string]struct{ reason, rest, want string }{
		"NoResources":  {reason: "A step that makes nothing is a mistake.", want: "resources is required", rest: "resources: []"},
		"Environment":  {reason: "Outside of the subset.", want: `unknown field "environment"`, rest: "environment: {}\nresources: [{name: a, base: {kind: A}}]"},
		"Condition":    {reason: "Only in a fork of the original.", want: `unknown field "condition"`, rest: "condition: {expression: 'true'}\nresources: [{name: a, base: {kind: A}}]"},
		"NoBase":       {reason: "Outside of the subset.", want: "name and base are required", rest: "resources: [{name: a}]"},
		"MergePolicy":  {reason: "Outside of the subset.", want: `unknown field "toFieldPath"`, rest: "resources: [{name: a, base: {kind: A}, patches: [{fromFieldPath: a, policy: {toFieldPath: MergeObjects}}]}]"},
		"PatchType":    {reason: "Outside of the subset.", want: `cannot carry out patches of type "FromEnvironmentFieldPath"`, rest: "resources: [{name: a, base: {kind: A}, patches: [{type: FromEnvironmentFieldPath, fromFieldPath: a}]}]"},
		"NoSet":        {reason: "A set has to be there.", want: `cannot find patch set "b"`, rest: "resources: [{name: a, base: {kind: A}, patches: [{type: PatchSet, patchSetName: b}]}]"},
		"NoPath":       {reason: "A patch takes something.", want: "fromFieldPath is required", rest: "resources: [{name: a, base: {kind: A}, patches: [{toFieldPath: a}]}]"},
		"CombineEmpty": {reason: "A combination says of what.", want: "combine with strategy string", rest: "resources: [{name: a, base: {kind: A}, patches: [{type: CombineFromComposite, toFieldPath: a}]}]"},
		"Policy":       {reason: "A policy is one of two.", want: "want Required or Optional", rest: "resources: [{name: a, base: {kind: A}, patches: [{fromFieldPath: a, policy: {fromFieldPath: Sometimes}}]}]"},
		"NestedSet":    {reason: "A set holds no sets.", want: "a patch set cannot hold another one", rest: "patchSets: [{name: b, patches: [{type: PatchSet, patchSetName: b}]}]\nresources: [{name: a, base: {kind: A}}]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, &fnv1.RunFunctionRequest{Input: input(t, tc.rest), Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: object(t, tenant)}}})
			if !strings.Contains(got.Fatal, tc.want) || strings.Contains(got.Fatal, "%!") {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got.Fatal, tc.want)
			}
		})
	}
}
