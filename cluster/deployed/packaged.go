package deployed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// packageTimeout is how long Crossplane and the node may take to replace the pod.
const packageTimeout = 3 * time.Minute

// Of the product as a package.
const (
	packageNamespace = "crossplane-system"
	packagePods      = "pkg.crossplane.io/provider=provider-finops"
	provider         = "providers.pkg.crossplane.io/provider-finops"

	// configured marks a configuration of the controller, so that its Deployment
	// can be told from one that is yet to follow.
	configured = "finops.test/configured"
)

// A Packaged product runs as the pod that Crossplane makes of its package, as
// examples/crossplane says. Install makes it run.
type Packaged struct {
	Product

	Package string // Its reference in the registry.

	runtime string // The DeploymentRuntimeConfig, as the example has it.
	changes int
}

// NewPackaged is the product as the package of that reference, with its logs in the
// folder.
func NewPackaged(root, dir, reference string) *Packaged {
	p := &Packaged{Product: Product{Root: root, Dir: dir}, Package: reference}
	p.restart = p.apply
	return p
}

// Install applies the examples, with what is different here, and waits until the
// controller runs and is asked.
func (p *Packaged) Install(ctx context.Context) error {
	here := strings.NewReplacer(
		"registry.example.org/provider-finops/provider-finops:v0.1.0", p.Package,
		"postgres://finops:change-me@postgres.databases:5432/finops?sslmode=require", strconv.Quote(p.DSN),
		"http://opencost.opencost:9003", p.OpenCost,
	)
	for _, name := range []string{"credentials.yaml", "provider.yaml", "runtime.yaml"} {
		text, err := os.ReadFile(filepath.Join(p.Root, "examples", "crossplane", name))
		if err != nil {
			return fmt.Errorf("cannot read an example: %w", err)
		}
		file := filepath.Join(p.Dir, name)
		if err := os.WriteFile(file, []byte(here.Replace(string(text))), 0o600); err != nil {
			return fmt.Errorf("cannot write a manifest: %w", err)
		}
		if name == "runtime.yaml" { // It is applied with a clock.
			if p.runtime, err = p.Kubectl.Run(ctx, "create", "--dry-run=client", "--output=json", "-f", file); err != nil {
				return err
			}
			continue
		}
		if _, err := p.Kubectl.Run(ctx, "apply", "-f", file); err != nil {
			return err
		}
	}
	return p.apply(ctx)
}

// apply tells Crossplane how the controller is to run, and waits until it does.
func (p *Packaged) apply(ctx context.Context) error {
	p.changes++
	runtime, err := p.copyRuntime()
	if err != nil {
		return err
	}
	spec := at(runtime, "spec", "deploymentTemplate", "spec")
	spec["strategy"] = object{"type": "Recreate"} // Two controllers with different clocks must not be there at once.
	at(spec, "template", "metadata", "annotations")[configured] = strconv.Itoa(p.changes)
	_, controller := named(at(spec, "template", "spec")["containers"], "package-runtime")
	if controller == nil {
		return errors.New(`examples/crossplane/runtime.yaml has no container "package-runtime"`)
	}
	args, _ := controller["args"].([]any)
	for _, a := range p.arguments() {
		args = append(args, a)
	}
	env, _ := controller["env"].([]any)
	controller["args"], controller["env"] = args, p.settings.over(env)
	file := filepath.Join(p.Dir, "runtime.json")
	if err := writeJSON(file, runtime); err != nil {
		return err
	}
	if _, err := p.Kubectl.Run(ctx, "apply", "-f", file); err != nil {
		return err
	}
	return p.ready(ctx)
}

func (p *Packaged) copyRuntime() (object, error) {
	var runtime object
	if err := json.Unmarshal([]byte(p.runtime), &runtime); err != nil {
		return nil, fmt.Errorf("cannot read the DeploymentRuntimeConfig: %w", err)
	}
	return runtime, nil
}

// follows says whether the Deployment of the package's current revision is as it
// was last configured, and its pod is ready.
func (p *Packaged) follows(ctx context.Context) error {
	revision, err := p.Kubectl.Run(ctx, "get", provider, "--output=jsonpath={.status.currentRevision}")
	if err != nil {
		return err
	}
	var deployment struct {
		Metadata struct{ Generation int }
		Spec     struct {
			Template struct {
				Metadata struct{ Annotations map[string]string }
			}
		}
		Status struct{ ObservedGeneration, Replicas, UpdatedReplicas, AvailableReplicas int }
	}
	if err := p.Kubectl.Get(ctx, &deployment, "deployment", revision, "-n", packageNamespace); err != nil {
		return err
	}
	if got, want := deployment.Spec.Template.Metadata.Annotations[configured], strconv.Itoa(p.changes); got != want {
		return fmt.Errorf("the Deployment of revision %s has configuration %q, of %q", revision, got, want)
	}
	if s := deployment.Status; s.ObservedGeneration < deployment.Metadata.Generation || s.Replicas != 1 || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1 {
		return fmt.Errorf("the Deployment of revision %s has %d pods, %d of them new, %d ready", revision, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas)
	}
	return nil
}

// ready waits until the controller runs as it was last configured and the API
// server asks it, and follows its log from then on.
func (p *Packaged) ready(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, packageTimeout)
	defer cancel()
	if err := process.WaitFor(waiting, "the controller's pod", p.follows); err != nil {
		seen, look := p.Kubectl.Run(ctx, "describe", provider, "providerrevisions.pkg.crossplane.io,pods", "-n", packageNamespace)
		said, listen := p.Kubectl.Run(ctx, "logs", "-n", packageNamespace, "-l", packagePods, "--tail=15")
		return errors.Join(fmt.Errorf("%w\n%s%s", err, seen, said), look, listen)
	}
	return p.follow(ctx, packageNamespace, packagePods)
}
