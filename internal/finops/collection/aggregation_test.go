package collection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAggregation(t *testing.T) {
	type want struct{ list, err string }

	cases := map[string]struct {
		reason string
		list   string
		want   want
	}{
		"Default":     {reason: "The default is its own form.", list: DefaultAggregation, want: want{list: DefaultAggregation}},
		"OtherOrder":  {reason: "The order is no difference, so it makes no other key.", list: "pod, namespace,Container", want: want{list: DefaultAggregation}},
		"Spelling":    {reason: "OpenCost compares without case.", list: "NAMESPACE,controllerkind,controller", want: want{list: "namespace,controllerKind,controller"}},
		"Cluster":     {reason: "Several clusters in one OpenCost.", list: "namespace,pod,container,cluster", want: want{list: "cluster,namespace,pod,container"}},
		"Label":       {reason: "Labels come last, in the order of their names.", list: "label:team,Label:app,namespace", want: want{list: "namespace,label:app,label:team"}},
		"Unknown":     {reason: "Dropped in silence by OpenCost.", list: "namespace,bogus", want: want{err: `cannot aggregate by "bogus": OpenCost knows no such dimension`}},
		"BareLabel":   {reason: "A label without a name is an empty part of every key.", list: "namespace,label", want: want{err: `cannot aggregate by "label": OpenCost knows no such dimension`}},
		"Empty":       {reason: "An empty list sums up everything.", list: "", want: want{err: `cannot aggregate by "": OpenCost knows no such dimension`}},
		"Twice":       {reason: "A word given twice stands twice in every key.", list: "namespace,pod,POD", want: want{err: `cannot aggregate by "pod" twice`}},
		"NoNamespace": {reason: "Usage is selected by namespace.", list: "pod,container", want: want{err: `cannot aggregate by "pod,container": charges need the namespace`}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			list, err := Aggregation(tc.list)
			got := want{list: list}
			if err != nil {
				got.err = err.Error()
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\nAggregation(%q): -want, +got:\n%s", tc.reason, tc.list, diff)
			}
		})
	}
}
