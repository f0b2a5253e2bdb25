package compose

import (
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/crossplane/function-sdk-go/resource/composed"
	"github.com/crossplane/function-sdk-go/response"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// Function serves all three steps.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction runs one step of a pipeline. What goes wrong is a result of
// severity fatal, and never an error: those are for the transport.
func (Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := response.To(req, response.DefaultTTL)
	step := patchAndTransform
	switch input := req.GetInput().GetFields(); {
	case len(input) == 0:
		step = autoReady
	case input["apiVersion"].GetStringValue() == filters && input["kind"].GetStringValue() == "Filters":
		step = filter
	}
	if err := step(req, rsp); err != nil {
		response.Fatal(rsp, err)
	}
	return rsp, nil
}

// A step is what patching and transforming works on.
type step struct {
	rsp      *fnv1.RunFunctionResponse
	xr       content // As it is.
	desired  content // Of the composite, as it is to be.
	observed map[resource.Name]resource.ObservedComposed
}

func patchAndTransform(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	in, err := decode(req.GetInput())
	if err != nil {
		return err
	}
	oxr, err := request.GetObservedCompositeResource(req)
	if err != nil {
		return fmt.Errorf("cannot read the observed composite resource: %w", err)
	}
	dxr, err := request.GetDesiredCompositeResource(req)
	if err != nil {
		return fmt.Errorf("cannot read the desired composite resource: %w", err)
	}
	dxr.Resource.SetAPIVersion(oxr.Resource.GetAPIVersion())
	dxr.Resource.SetKind(oxr.Resource.GetKind())
	s := step{rsp: rsp, xr: oxr.Resource.Object, desired: dxr.Resource.Object}
	if s.observed, err = request.GetObservedComposedResources(req); err != nil {
		return fmt.Errorf("cannot read the observed composed resources: %w", err)
	}
	desired, err := request.GetDesiredComposedResources(req)
	if err != nil {
		return fmt.Errorf("cannot read the desired composed resources: %w", err)
	}
	for _, t := range in.Resources {
		made, err := s.render(t)
		if err != nil {
			return err
		}
		if made != nil {
			desired[resource.Name(t.Name)] = made
		}
	}
	if err := response.SetDesiredCompositeResource(rsp, dxr); err != nil {
		return fmt.Errorf("cannot answer with the desired composite resource: %w", err)
	}
	return response.SetDesiredComposedResources(rsp, desired)
}

// render makes one composed resource, or nil if it has to wait for a field.
func (s step) render(t Template) (*resource.DesiredComposed, error) {
	made := &resource.DesiredComposed{Resource: composed.New()}
	if err := k8sjson.Unmarshal(t.Base, &made.Resource.Object); err != nil {
		return nil, fmt.Errorf("cannot parse base template of composed resource %q: %w", t.Name, err)
	}
	observed, exists := s.observed[resource.Name(t.Name)]
	if exists {
		made.Resource.SetNamespace(observed.Resource.GetNamespace())
		made.Resource.SetName(observed.Resource.GetName())
		is, err := ready(observed.Resource, t.ReadinessChecks)
		if err != nil {
			response.Warning(s.rsp, fmt.Errorf("cannot check readiness of composed resource %q: %w", t.Name, err))
		}
		if is {
			made.Ready = resource.ReadyTrue
		}
	}
	for i, p := range t.Patches {
		err := s.patch(p, observed, made)
		switch {
		case err == nil:
		case !fieldpath.IsNotFound(err):
			return nil, fmt.Errorf("cannot render composed resource %q %q patch at index %d: %w", t.Name, p.kind(), i, err)
		case p.required() && p.toComposed() && !exists:
			response.Warning(s.rsp, fmt.Errorf("not adding new composed resource %q to desired state because %q patch at index %d has 'policy.fromFieldPath: Required': %w", t.Name, p.kind(), i, err))
			return nil, nil //nolint:nilnil // Not made, and nothing is wrong.
		case p.required():
			response.Warning(s.rsp, fmt.Errorf("cannot render composed resource %q %q patch at index %d: ignoring 'policy.fromFieldPath: Required' because 'to' resource already exists: %w", t.Name, p.kind(), i, err))
		}
	}
	return made, nil
}

// patch carries out one patch between the composite and a composed resource.
// Those to the composite wait until the resource exists.
func (s step) patch(p Patch, observed resource.ObservedComposed, made *resource.DesiredComposed) error {
	switch {
	case p.toComposed():
		return apply(p, s.xr, made.Resource.Object)
	case observed.Resource != nil:
		return apply(p, observed.Resource.Object, s.desired)
	}
	return nil
}

// autoReady marks what is desired, exists, and says Ready=True of itself. What an
// earlier step had to say about readiness stands.
func autoReady(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	observed, err := request.GetObservedComposedResources(req)
	if err != nil {
		return fmt.Errorf("cannot read the observed composed resources: %w", err)
	}
	desired, err := request.GetDesiredComposedResources(req)
	if err != nil {
		return fmt.Errorf("cannot read the desired composed resources: %w", err)
	}
	for name, d := range desired {
		if o, ok := observed[name]; ok && d.Ready == resource.ReadyUnspecified && conditionIs(o.Resource, "Ready", "True") {
			d.Ready = resource.ReadyTrue
		}
	}
	return response.SetDesiredComposedResources(rsp, desired)
}
