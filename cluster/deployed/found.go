package deployed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/provider-finops/provider-finops/cluster/product"
)

// Found is a product that somebody has installed from the plain manifests, in
// whatever version and however changed. What is done to its controller can be
// undone.
type Found struct {
	Product

	deployment object // As it was found.
	changed    bool
}

// NewFound is the product in that cluster, with what is written about it in the
// folder. Look has to find it.
func NewFound(kubectl product.Kubectl, root, dir string) *Found {
	f := &Found{Product: Product{Kubectl: kubectl, Root: root, Dir: dir}}
	f.restart = f.patch
	return f
}

// Look looks for the controller, and for somebody who charges: without, what a
// story leaves would stay.
func (f *Found) Look(ctx context.Context) error {
	if err := f.Kubectl.Get(ctx, &f.deployment, deployment, "-n", product.Namespace); err != nil {
		return fmt.Errorf("cannot find the controller: provider-finops has to be installed there from cluster/install: %w", err)
	}
	charges, err := f.Kubectl.Run(ctx, "get", "costjobs.finops.stakater.com", "--all-namespaces",
		`--output=jsonpath={.items[?(@.spec.type=="SubscriptionChargeCollection")].metadata.name}`)
	switch {
	case err != nil:
		return fmt.Errorf("cannot look for a CostJob that charges: %w", err)
	case charges == "":
		return errors.New("cannot tell stories in a cluster where nobody charges, as what they leave would stay: make a CostJob of type SubscriptionChargeCollection first")
	}
	return nil
}

// Restore makes the controller what it was, if it was changed.
func (f *Found) Restore(ctx context.Context) error {
	if !f.changed {
		return nil
	}
	f.settings = settings{}
	f.offset.Store(0)
	return f.patch(ctx)
}

// patch makes the Deployment what it was found as, but for flags, variables and
// clock.
func (f *Found) patch(ctx context.Context) error {
	f.changed = true
	spec := at(f.deployment, "spec", "template", "spec")
	i, manager := named(spec["containers"], "manager")
	if manager == nil {
		return errors.New(`the controller's Deployment has no container "manager"`)
	}
	args, _ := manager["args"].([]any)
	args = slices.Clone(args)
	for _, a := range f.arguments() {
		args = append(args, a)
	}
	env, _ := manager["env"].([]any)
	patch := []object{
		{"op": "replace", "path": fmt.Sprintf("/spec/template/spec/containers/%d/args", i), "value": args},
		{"op": "replace", "path": fmt.Sprintf("/spec/template/spec/containers/%d/env", i), "value": f.settings.over(env)},
		{"op": "replace", "path": "/spec/strategy", "value": object{"type": "Recreate"}}, // As the harness's own.
	}
	if len(f.arguments()) == 0 && len(f.settings.variables) == 0 {
		patch[2]["value"] = at(f.deployment, "spec")["strategy"]
	}
	file := filepath.Join(f.Dir, "deployment-patch.json")
	if err := writeJSON(file, patch); err != nil {
		return err
	}
	if _, err := f.Kubectl.Run(ctx, "patch", deployment, "-n", product.Namespace, "--type=json", "--patch-file="+file); err != nil {
		return err
	}
	return f.ready(ctx)
}

// over are the variables with ours in place of those of the same name.
func (s settings) over(env []any) []any {
	env = slices.DeleteFunc(slices.Clone(env), func(v any) bool { return s.sets(name(v)) })
	for _, v := range s.entries() {
		env = append(env, v)
	}
	return env
}
