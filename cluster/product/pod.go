package product

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// podTimeout is how long a Job's pod may take to come: the controller manager
// makes it.
const podTimeout = 3 * time.Minute

// pod is what a node needs of one.
type pod struct {
	Metadata struct {
		Name                string
		Labels, Annotations map[string]string
	}
	Spec   podSpec
	Status struct{ Phase string }
}

// fields are the pod's own, by the paths that its variables name them by. What is
// not there is empty, as it is for a kubelet.
func (p pod) fields() map[string]string {
	fields := map[string]string{scheduledAnnotation: "", jobNameLabel: ""}
	for key, value := range p.Metadata.Annotations {
		fields["metadata.annotations['"+key+"']"] = value
	}
	for key, value := range p.Metadata.Labels {
		fields["metadata.labels['"+key+"']"] = value
	}
	return fields
}

// RunJob does what a node would do with the waiting pod of a Job, which may have
// been suspended until now: it runs the container with the arguments and variables
// of that pod, and says in the pod's status how it has ended, by which the Job goes
// on. The run's log is a file.
func (p *Product) RunJob(ctx context.Context, namespace, name string) (Usage, error) {
	if _, err := p.Kubectl.Run(ctx, "patch", "job", name, "--namespace="+namespace, "--type=merge", `--patch={"spec":{"suspend":false}}`); err != nil {
		return Usage{}, err
	}
	waiting, err := p.waitingPod(ctx, namespace, name)
	if err != nil {
		return Usage{}, err
	}
	loader, err := waiting.Spec.loader()
	if err != nil {
		return Usage{}, fmt.Errorf("cannot run pod %q: %w", waiting.Metadata.Name, err)
	}
	if len(loader.Command) > 0 {
		return Usage{}, fmt.Errorf("cannot run pod %q: it has a command, want the image's", waiting.Metadata.Name)
	}
	env, err := p.environment(ctx, namespace, waiting.Spec.ServiceAccountName, loader.Env, waiting.fields())
	if err != nil {
		return Usage{}, fmt.Errorf("cannot prepare pod %q: %w", waiting.Metadata.Name, err)
	}

	usage, failed := p.run(ctx, filepath.Join(p.Logs, name+".log"), p.clocked(loader.Args), env)
	phase := "Succeeded"
	if failed != nil {
		phase = "Failed"
	}
	_, err = p.Kubectl.Run(ctx, "patch", "pod", waiting.Metadata.Name, "--namespace="+namespace, "--subresource=status", "--type=merge",
		`--patch={"status":{"phase":"`+phase+`"}}`)
	return usage, errors.Join(failed, err)
}

// waitingPod waits for a pod of a Job that nobody has run yet.
func (p *Product) waitingPod(ctx context.Context, namespace, job string) (waiting pod, err error) {
	ctx, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	err = process.WaitFor(ctx, fmt.Sprintf("a pod of Job %q to run", job), func(ctx context.Context) error {
		var list struct{ Items []pod }
		if err := p.Kubectl.Get(ctx, &list, "pods", "--namespace="+namespace, "--selector="+jobNameKey+"="+job); err != nil {
			return err
		}
		for _, found := range list.Items {
			if found.Status.Phase == "Pending" {
				waiting = found
				return nil
			}
		}
		return fmt.Errorf("none of its %d pods is waiting", len(list.Items))
	})
	return waiting, err
}
