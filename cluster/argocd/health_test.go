// Package argocd tests the rules by which Argo CD tells how things stand
// (examples/argocd) in the interpreter that Argo CD runs them in.
package argocd

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

const manifest = "../../examples/argocd/argocd-cm.yaml"

// scripts reads them by group_Kind.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object.Data
}

func script(t *testing.T, kind string) string {
	t.Helper()
	const prefix = "resource.customizations.health."
	for _, group := range []string{"finops.stakater.com", "platform.example.org"} {
		if text, ok := scripts(t)[prefix+group+"_"+kind]; ok {
			return text
		}
	}
	t.Fatalf("%s has no rule for %s", manifest, kind)
	return ""
}

// verdict runs a rule as Argo CD does: the object is the global obj, and only the
// libraries that can do no harm are there.
func verdict(t *testing.T, text string, object map[string]any) (status, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	l.SetGlobal("obj", value(l, object))
	if err := l.DoString(text); err != nil {
		t.Fatalf("the rule fails on %v: %v", object, err)
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the rule returns %s for %v", l.Get(-1).Type(), object)
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case string:
		return lua.LString(v)
	case int:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(value(l, item))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, value(l, item))
		}
		return table
	}
	return lua.LNil
}

// object is one with these conditions: type, status, reason.
func object(kind string, conditions ...[3]string) map[string]any {
	list := make([]any, len(conditions))
	for i, c := range conditions {
		list[i] = map[string]any{"type": c[0], "status": c[1], "reason": c[2], "message": "", "observedGeneration": 1}
	}
	return map[string]any{"kind": kind, "metadata": map[string]any{"generation": 1}, "status": map[string]any{"conditions": list}}
}

// Every combination of the conditions of a Subscription, against the rule in
// words: not synced is degraded, or suspended if it was paused; over is
// suspended; held back is degraded; not ready is on its way; all else is healthy.
func TestEveryCombination(t *testing.T) {
	text := script(t, "Subscription")
	states := []string{"", "True", "False", "Unknown"}
	for _, synced := range []string{"", "True", "False/ReconcileError", "False/ReconcilePaused", "Unknown"} {
		for _, ready := range states {
			for _, active := range states {
				for _, parked := range states {
					for _, reversed := range []bool{false, true} {
						want := "Healthy"
						switch {
						case synced == "False/ReconcilePaused":
							want = "Suspended"
						case synced == "False/ReconcileError":
							want = "Degraded"
						case active == "False":
							want = "Suspended"
						case parked == "True":
							want = "Degraded"
						case ready != "True" || synced == "":
							want = "Progressing"
						}
						var conditions [][3]string
						add := func(kind, state string) {
							status, reason := state, "Some"
							if state == "" {
								return
							}
							if n := len("False/"); len(state) > n && state[:n] == "False/" {
								status, reason = "False", state[n:]
							}
							conditions = append(conditions, [3]string{kind, status, reason})
						}
						add("Ready", ready)
						add("Active", active)
						add("Synced", synced)
						add("ChargesParked", parked)
						if reversed {
							for i, j := 0, len(conditions)-1; i < j; i, j = i+1, j-1 {
								conditions[i], conditions[j] = conditions[j], conditions[i]
							}
						}
						if got, _ := verdict(t, text, object("Subscription", conditions...)); got != want {
							t.Errorf("Synced=%s Ready=%s Active=%s ChargesParked=%s: want %s, got %s", synced, ready, active, parked, want, got)
						}
					}
				}
			}
		}
	}
}

// Every reason of Ready=False, as of docs/reference/conditions.md: what lasts
// until somebody acts is degraded, what passes is on its way.
func TestEveryReason(t *testing.T) {
	cases := map[string]map[string][]string{
		"Subscription": {
			"Progressing": {"OfferingNotFound", "OfferingNotReady", "ParentSubscriptionNotFound", "ParentSubscriptionNotReady", "CompatibilityRequirementNotMet", "TargetNotFound", "ValidationError"},
			"Degraded":    {"ParentSubscriptionDeactivated", "CircularDependencyDetected", "TargetIsSelfReference"},
		},
		"Offering": {
			"Progressing": {"NoActivePricebook", "RequiredOfferingNotFound", "RequiredOfferingNotReady", "ValidationError"},
			"Degraded":    {"PricebookParseFailed", "CircularDependencyDetected"},
		},
		"PriceBook":      {"Degraded": {"PricebookParseFailed"}},
		"FinOpsProvider": {"Degraded": {"NoValidProviderOption", "OpenCostResourceNotFound", "SyncFailed"}},
		"CostJob":        {"Degraded": {"NotScheduled"}},
		"Tenant":         {"Progressing": {"Creating"}},
	}
	for kind, wants := range cases {
		text := script(t, kind)
		for want, reasons := range wants {
			for _, reason := range reasons {
				got, message := verdict(t, text, object(kind, [3]string{"Synced", "True", "ReconcileSuccess"}, [3]string{"Ready", "False", reason}))
				if diff := cmp.Diff([]string{want, reason}, []string{got, message}); diff != "" {
					t.Errorf("%s, %s: -want, +got:\n%s", kind, reason, diff)
				}
			}
		}
		if got, _ := verdict(t, text, object(kind, [3]string{"Synced", "True", "ReconcileSuccess"}, [3]string{"Ready", "True", "Some"})); got != "Healthy" {
			t.Errorf("%s, ready: want Healthy, got %s", kind, got)
		}
	}
}

func TestCornerCases(t *testing.T) {
	ready, synced := [3]string{"Ready", "True", "Scheduled"}, [3]string{"Synced", "True", "ReconcileSuccess"}
	newer := object("Subscription", ready, synced)
	newer["metadata"] = map[string]any{"generation": 2}
	failed := object("CostJob", ready, synced)
	failed["status"].(map[string]any)["lastExecutionStatus"] = "Failed"
	succeeded := object("CostJob", ready, synced)
	succeeded["status"].(map[string]any)["lastExecutionStatus"] = "Success"
	cases := map[string]struct {
		reason string
		object map[string]any
		want   string
	}{
		"NoStatus":      {reason: "Just applied.", object: map[string]any{"kind": "Subscription", "metadata": map[string]any{}}, want: "Progressing"},
		"NoConditions":  {reason: "A collector may write before the controller.", object: map[string]any{"kind": "CostJob", "metadata": map[string]any{}, "status": map[string]any{"lastExecutionStatus": "Success"}}, want: "Progressing"},
		"OlderVerdict":  {reason: "A verdict on an older generation says nothing about this one.", object: newer, want: "Progressing"},
		"FailedRun":     {reason: "A run that failed is to be looked at.", object: failed, want: "Degraded"},
		"SucceededRun":  {reason: "One that did not is not.", object: succeeded, want: "Healthy"},
		"DemotedBook":   {reason: "A book that is not in force is in order all the same.", object: object("PriceBook", ready, synced, [3]string{"Active", "False", "Demoted"}), want: "Healthy"},
		"EndedNotReady": {reason: "An ended Subscription is not ready, for ever, and waits for nothing.", object: object("Subscription", [3]string{"Ready", "False", "ValidationSucceeded"}, synced, [3]string{"Active", "False", "ParentDeactivated"}), want: "Suspended"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := verdict(t, script(t, fmt.Sprint(tc.object["kind"])), tc.object)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
