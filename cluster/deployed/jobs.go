package deployed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
)

const (
	runTimeout = 5 * time.Minute
	container  = "loader"
	scheduled  = "SCHEDULED_TIMESTAMP"
)

// RunCostJob makes a Job of the CostJob's CronJob, as if it were due at the
// hour, and waits for its end. As one of "kubectl create job --from" it belongs to
// the CronJob: it counts into the history of that, and goes with it. It tells
// nothing of what the run took.
func (p *Product) RunCostJob(ctx context.Context, namespace, name string, hour time.Time) (product.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var cronJob object
	if err := p.Kubectl.Get(ctx, &cronJob, "cronjob", name+"-cronjob", "--namespace="+namespace); err != nil {
		return product.Usage{}, fmt.Errorf("cannot read the CronJob of CostJob %q: %w", name, err)
	}
	job, err := newJob(cronJob, name+"-run-", hour, p.clockOffset())
	if err != nil {
		return product.Usage{}, fmt.Errorf("cannot prepare a run of CostJob %q: %w", name, err)
	}
	file := filepath.Join(p.Dir, "job.json")
	if err := writeJSON(file, job); err != nil {
		return product.Usage{}, err
	}
	run, err := p.Kubectl.Run(ctx, "create", "-f", file, "--output=jsonpath={.metadata.name}")
	if err != nil {
		return product.Usage{}, err
	}
	if err := p.finish(ctx, namespace, run, fmt.Sprintf("%s-%s.log", name, hour.UTC().Format("2006-01-02T15"))); err != nil {
		return product.Usage{}, fmt.Errorf("cannot run CostJob %q: %w", name, err)
	}
	return product.Usage{}, nil
}

// RunJob runs a Job that somebody has made, suspended so that it did not run at the
// machine's time: it is made once more, with the controller's clock. What is
// waited for is its end. It tells nothing of what the run took.
func (p *Product) RunJob(ctx context.Context, namespace, name string) (product.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var found object
	if err := p.Kubectl.Get(ctx, &found, "job", name, "--namespace="+namespace); err != nil {
		return product.Usage{}, fmt.Errorf("cannot read Job %q: %w", name, err)
	}
	job, err := again(found, p.clockOffset())
	if err != nil {
		return product.Usage{}, fmt.Errorf("cannot prepare Job %q: %w", name, err)
	}
	file := filepath.Join(p.Dir, "job.json")
	if err := writeJSON(file, job); err != nil {
		return product.Usage{}, err
	}
	for _, args := range [][]string{{"delete", "job", name, "--namespace=" + namespace}, {"create", "-f", file}} {
		if _, err := p.Kubectl.Run(ctx, args...); err != nil {
			return product.Usage{}, err
		}
	}
	return product.Usage{}, p.finish(ctx, namespace, name, name+".log")
}

// finish waits for the Job's end and keeps what it has said.
func (p *Product) finish(ctx context.Context, namespace, job, log string) error {
	failed := p.wait(ctx, namespace, job)
	file, err := p.keepLog(ctx, namespace, job, log)
	if failed != nil {
		return fmt.Errorf("its Job %q failed: %w; its log %s ends with:\n%s", job, errors.Join(failed, err), file, process.Tail(file, 15))
	}
	return err
}

// NextHour moves business time to the next full hour and runs every CostJob of
// the cluster for it, whatever its interval. It returns the hour and who has run.
func (p *Product) NextHour(ctx context.Context) (time.Time, []string, error) {
	return product.NextHour(ctx, p, p.Kubectl)
}

// WaitForCronJobs waits until every CostJob has become a CronJob.
func (p *Product) WaitForCronJobs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	return process.WaitFor(ctx, "the CronJobs", func(ctx context.Context) error {
		var jobs, cronJobs struct{ Items []object }
		if err := p.Kubectl.Get(ctx, &jobs, "costjobs.finops.stakater.com", "--all-namespaces"); err != nil {
			return err
		}
		if err := p.Kubectl.Get(ctx, &cronJobs, "cronjobs", "--all-namespaces"); err != nil {
			return err
		}
		if len(cronJobs.Items) < len(jobs.Items) {
			return fmt.Errorf("there are %d, of %d CostJobs", len(cronJobs.Items), len(jobs.Items))
		}
		return nil
	})
}

// newJob is the Job that the CronJob would make, under a name that the API server
// completes, at another hour, and with a moved clock.
func newJob(cronJob object, prefix string, hour time.Time, offset time.Duration) (object, error) {
	template := at(cronJob, "spec", "jobTemplate")
	loader, err := loaderAt(template, offset)
	if err != nil {
		return nil, err
	}
	env, _ := loader["env"].([]any)
	env = slices.DeleteFunc(env, func(v any) bool { return name(v) == scheduled })
	loader["env"] = append(env, object{"name": scheduled, "value": hour.UTC().Format(time.RFC3339)})

	owner, metadata := at(cronJob, "metadata"), at(template, "metadata")
	metadata["generateName"], metadata["namespace"] = prefix, owner["namespace"]
	metadata["ownerReferences"] = []object{{
		"apiVersion": "batch/v1", "kind": "CronJob", "name": owner["name"], "uid": owner["uid"], "controller": true,
	}}
	at(metadata, "annotations")["cronjob.kubernetes.io/instantiate"] = "manual"
	job := object{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}
	at(job, "spec")["backoffLimit"] = 0 // A run that fails is looked at.
	return job, nil
}

// again is the Job as it was before the API server had it, no longer suspended, and
// with a moved clock.
func again(found object, offset time.Duration) (object, error) {
	if _, err := loaderAt(found, offset); err != nil {
		return nil, err
	}
	spec := at(found, "spec")
	delete(spec, "selector")
	spec["suspend"] = false
	labels := at(spec, "template", "metadata", "labels")
	maps.DeleteFunc(labels, func(key string, _ any) bool { return slices.Contains(jobLabels, key) })
	metadata := object{}
	for _, key := range []string{"name", "namespace", "labels", "annotations", "ownerReferences"} {
		if value, ok := at(found, "metadata")[key]; ok {
			metadata[key] = value
		}
	}
	return object{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}, nil
}

// jobLabels are those that the API server gives to a Job's pods.
var jobLabels = []string{"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"}

// loaderAt is the container of a Job, or of a template of one, with a moved clock.
func loaderAt(job object, offset time.Duration) (object, error) {
	_, loader := named(at(job, "spec", "template", "spec")["containers"], container)
	if loader == nil {
		return nil, fmt.Errorf("it has no container %q", container)
	}
	// The controller has given it its own offset, which may be that of a moment ago.
	args, _ := loader["args"].([]any)
	args = slices.DeleteFunc(args, func(a any) bool { text, _ := a.(string); return strings.HasPrefix(text, clockFlag) })
	if offset != 0 {
		args = append(args, clockFlag+offset.String())
	}
	loader["args"] = args
	return loader, nil
}

// name is what an entry of a list is called.
func name(entry any) string {
	o, _ := entry.(object)
	text, _ := o["name"].(string)
	return text
}

// named is the entry of that name, nil if the list has none.
func named(list any, wanted string) (int, object) {
	entries, _ := list.([]any)
	i := slices.IndexFunc(entries, func(e any) bool { return name(e) == wanted })
	if i < 0 {
		return 0, nil
	}
	o, _ := entries[i].(object)
	return i, o
}

// at is the object below the keys, made if it is missing.
func at(o object, keys ...string) object {
	for _, key := range keys {
		below, ok := o[key].(object)
		if !ok {
			below = object{}
			o[key] = below
		}
		o = below
	}
	return o
}

// wait returns nil once the Job is complete.
func (p *Product) wait(ctx context.Context, namespace, job string) error {
	var failure error
	err := process.WaitFor(ctx, "Job "+job, func(ctx context.Context) error {
		var state struct {
			Status struct {
				Conditions []struct{ Type, Status, Reason, Message string }
			}
		}
		if err := p.Kubectl.Get(ctx, &state, "job", job, "--namespace="+namespace); err != nil {
			return err
		}
		for _, c := range state.Status.Conditions {
			switch {
			case c.Status != "True":
			case c.Type == "Complete":
				return nil
			case c.Type == "Failed":
				failure = fmt.Errorf("%s: %s", c.Reason, c.Message)
				return nil
			}
		}
		return errors.New("it has not ended")
	})
	return errors.Join(err, failure)
}

func (p *Product) keepLog(ctx context.Context, namespace, job, name string) (string, error) {
	file := filepath.Join(p.Dir, name)
	text, err := p.Kubectl.Run(ctx, "logs", "job/"+job, "--namespace="+namespace)
	if err != nil {
		return file, err
	}
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return file, fmt.Errorf("cannot keep the log of a run: %w", err)
	}
	_, err = log.WriteString(text)
	return file, errors.Join(err, log.Close())
}
