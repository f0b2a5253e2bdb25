package compose

import (
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/crossplane/function-sdk-go/resource/composed"
)

// A ReadinessCheck says when a composed resource is ready.
type ReadinessCheck struct {
	Type           string  `json:"type"`
	FieldPath      string  `json:"fieldPath"`
	MatchString    *string `json:"matchString"`
	MatchInteger   *int64  `json:"matchInteger"`
	MatchCondition *struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	} `json:"matchCondition"`
}

// ready says whether all checks pass; without any, whether it says so itself.
func ready(observed *composed.Unstructured, checks []ReadinessCheck) (bool, error) {
	if len(checks) == 0 {
		return conditionIs(observed, string(xpv2.TypeReady), "True"), nil
	}
	for i, c := range checks {
		passes, err := c.pass(observed)
		if err != nil {
			return false, fmt.Errorf("readiness check at index %d: %w", i, err)
		}
		if !passes {
			return false, nil
		}
	}
	return true, nil
}

func conditionIs(o *composed.Unstructured, t, status string) bool {
	return string(o.GetCondition(xpv2.ConditionType(t)).Status) == status
}

// pass carries out one check. A field that is missing does not pass.
func (c ReadinessCheck) pass(o *composed.Unstructured) (bool, error) {
	if c.Type == "None" {
		return true, nil
	}
	if c.Type == "MatchCondition" && c.MatchCondition != nil {
		return conditionIs(o, c.MatchCondition.Type, c.MatchCondition.Status), nil
	}
	if c.FieldPath == "" {
		return false, fmt.Errorf("cannot carry out a check of type %q that is configured like this", c.Type)
	}
	value, err := fieldpath.Pave(o.Object).GetValue(c.FieldPath)
	if fieldpath.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if value, err = normal(value); err != nil {
		return false, err
	}
	switch {
	case c.Type == "NonEmpty":
		return true, nil
	case c.Type == "MatchString" && c.MatchString != nil:
		return typed(value, c.FieldPath, *c.MatchString)
	case c.Type == "MatchInteger" && c.MatchInteger != nil:
		return typed(value, c.FieldPath, *c.MatchInteger)
	case c.Type == "MatchTrue":
		return typed(value, c.FieldPath, true)
	case c.Type == "MatchFalse":
		return typed(value, c.FieldPath, false)
	}
	return false, fmt.Errorf("cannot carry out a check of type %q that is configured like this", c.Type)
}

// typed compares, and refuses a field of another type.
func typed[T comparable](value any, path string, want T) (bool, error) {
	got, ok := value.(T)
	if !ok {
		return false, fmt.Errorf("%s is not a %T", path, want)
	}
	return got == want, nil
}
