package deployed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
)

const (
	runTimeout = 3 * time.Minute
	container  = "loader"
	scheduled  = "SCHEDULED_TIMESTAMP"
)

// RunCostJob makes a Job of the CostJob's CronJob, as if it were due at the
// hour, and waits for its end. It tells nothing of what the run took.
func (p *Product) RunCostJob(ctx context.Context, namespace, name string, hour time.Time) (product.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var cronJob object
	if err := p.Kubectl.Get(ctx, &cronJob, "cronjob", name+"-cronjob", "--namespace="+namespace); err != nil {
		return product.Usage{}, fmt.Errorf("cannot read the CronJob of CostJob %q: %w", name, err)
	}
	p.runs++
	run := fmt.Sprintf("%s-run-%d", name, p.runs)
	job, err := newJob(cronJob, run, hour, p.clockOffset())
	if err != nil {
		return product.Usage{}, fmt.Errorf("cannot prepare a run of CostJob %q: %w", name, err)
	}
	file := filepath.Join(p.Dir, "job.json")
	if err := writeJSON(file, job); err != nil {
		return product.Usage{}, err
	}
	if _, err := p.Kubectl.Run(ctx, "create", "-f", file); err != nil {
		return product.Usage{}, err
	}
	failed := p.wait(ctx, namespace, run)
	log, err := p.keepLog(ctx, namespace, run, fmt.Sprintf("%s-%s.log", name, hour.UTC().Format("2006-01-02T15")))
	if failed != nil {
		return product.Usage{}, fmt.Errorf("a run of CostJob %q failed: %w; its log %s ends with:\n%s", name, errors.Join(failed, err), log, process.Tail(log, 15))
	}
	return product.Usage{}, err
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

// newJob is the Job that the CronJob would make, under another name, at another
// hour, and with a moved clock.
func newJob(cronJob object, run string, hour time.Time, offset time.Duration) (object, error) {
	template := at(cronJob, "spec", "jobTemplate")
	pod := at(template, "spec", "template", "spec")
	_, loader := named(pod["containers"], container)
	if loader == nil {
		return nil, fmt.Errorf("its CronJob has no container %q", container)
	}
	if offset != 0 {
		args, _ := loader["args"].([]any)
		loader["args"] = append(args, "--clock-offset="+offset.String())
	}
	env, _ := loader["env"].([]any)
	env = slices.DeleteFunc(env, func(v any) bool { return name(v) == scheduled })
	loader["env"] = append(env, object{"name": scheduled, "value": hour.UTC().Format(time.RFC3339)})

	metadata := at(template, "metadata")
	metadata["name"], metadata["namespace"] = run, at(cronJob, "metadata")["namespace"]
	job := object{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}
	at(job, "spec")["backoffLimit"] = 0 // A run that fails is looked at.
	return job, nil
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
