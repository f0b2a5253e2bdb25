package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// filters is the version of the input.
const filters = "cel.fn.crossplane.io/v1beta1"

// Filters is the input of a step that leaves composed resources out.
type Filters struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Filters    []Filter `json:"filters"`
}

// A Filter keeps the resources that it names if its expression holds.
type Filter struct {
	Name       string `json:"name"` // A regular expression for all of the name.
	Expression string `json:"expression"`
}

// filter leaves out what a filter that names it does not hold for. An expression
// that cannot be judged is an error, so that nothing ends for want of a field.
func filter(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	in, err := decodeFilters(req.GetInput())
	if err != nil {
		return err
	}
	env, err := cel.NewEnv(
		cel.Types(&fnv1.State{}, &structpb.Struct{}),
		cel.Variable("observed", cel.ObjectType("apiextensions.fn.proto.v1.State")),
		cel.Variable("desired", cel.ObjectType("apiextensions.fn.proto.v1.State")),
		cel.Variable("context", cel.ObjectType("google.protobuf.Struct")),
	)
	if err != nil {
		return fmt.Errorf("cannot prepare for expressions: %w", err)
	}
	var leaves []*regexp.Regexp
	for i, f := range in.Filters { // All of them are about what there is now.
		names, err := regexp.Compile("^" + f.Name + "$")
		if err != nil {
			return fmt.Errorf("cannot read the name of filter %d: %w", i, err)
		}
		holds, err := evaluate(env, f.Expression, req)
		if err != nil {
			return fmt.Errorf("cannot evaluate expression %q of filter %d: %w", f.Expression, i, err)
		}
		if !holds {
			leaves = append(leaves, names)
		}
	}
	maps.DeleteFunc(rsp.GetDesired().GetResources(), func(name string, _ *fnv1.Resource) bool {
		return slices.ContainsFunc(leaves, func(names *regexp.Regexp) bool { return names.MatchString(name) })
	})
	return nil
}

// evaluate wants an expression that is known to be a boolean before it is
// evaluated: one field alone, whose type nobody knows, is not.
func evaluate(env *cel.Env, expression string, req *fnv1.RunFunctionRequest) (bool, error) {
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		return false, issues.Err()
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		return false, fmt.Errorf("it is a %s, not a bool", checked.OutputType())
	}
	program, err := env.Program(checked)
	if err != nil {
		return false, err
	}
	result, _, err := program.Eval(map[string]any{"observed": req.GetObserved(), "desired": req.GetDesired(), "context": req.GetContext()})
	if err != nil {
		return false, err
	}
	holds, ok := result.Value().(bool)
	if !ok {
		return false, fmt.Errorf("it came to a %T, not a bool", result.Value())
	}
	return holds, nil
}

// decodeFilters reads the input of a step, and refuses fields it does not know.
func decodeFilters(input *structpb.Struct) (*Filters, error) {
	text, err := protojson.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	in := &Filters{}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(in); err != nil {
		return nil, fmt.Errorf("cannot read the filters, or they go beyond what this function knows: %w", err)
	}
	return in, nil
}
