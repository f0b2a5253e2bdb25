package product

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

const (
	containerName       = "loader"
	jobNameKey          = "batch.kubernetes.io/job-name"
	scheduledAnnotation = "metadata.annotations['batch.kubernetes.io/cronjob-scheduled-timestamp']"
	jobNameLabel        = "metadata.labels['" + jobNameKey + "']"
)

// cronJob is what a run needs of the CronJob that the controller has made.
type cronJob struct {
	Metadata struct{ Name string }
	Spec     struct {
		JobTemplate struct {
			Spec struct {
				Template struct{ Spec podSpec }
			}
		}
	}
}

type podSpec struct {
	ServiceAccountName string
	Containers         []container
}

type container struct {
	Name          string
	Command, Args []string
	Env           []variable
}

type variable struct {
	Name, Value string
	ValueFrom   *struct {
		FieldRef     *struct{ FieldPath string }
		SecretKeyRef *struct{ Name, Key string }
	}
}

// A Usage is what one run took.
type Usage struct {
	Wall, CPU   time.Duration
	MemoryBytes int64 // The most it has held at once.
}

// RunCostJob does what a node would do with the CostJob's next pod: it runs
// the container that the controller has written, for the hour that the CronJob
// would have been due at. The run's log is a file; an error ends with its tail.
func (p *Product) RunCostJob(ctx context.Context, namespace, name string, hour time.Time) (Usage, error) {
	var job cronJob
	if err := p.Kubectl.Get(ctx, &job, "cronjob", name+"-cronjob", "--namespace="+namespace); err != nil {
		return Usage{}, fmt.Errorf("cannot read the CronJob of CostJob %q: %w", name, err)
	}
	template := job.Spec.JobTemplate.Spec.Template.Spec
	loader, err := template.loader()
	if err != nil {
		return Usage{}, fmt.Errorf("cannot run CronJob %q: %w", job.Metadata.Name, err)
	}
	env, err := p.environment(ctx, namespace, template.ServiceAccountName, loader.Env, job.fields(hour))
	if err != nil {
		return Usage{}, fmt.Errorf("cannot prepare a run of CostJob %q: %w", name, err)
	}
	log := filepath.Join(p.Logs, fmt.Sprintf("%s-%s.log", name, hour.UTC().Format("2006-01-02T15")))
	return p.run(ctx, log, p.clocked(loader.Args), env)
}

func (s podSpec) loader() (container, error) {
	for _, c := range s.Containers {
		if c.Name == containerName {
			return c, nil
		}
	}
	return container{}, fmt.Errorf("it has no container %q", containerName)
}

// fields are those of the pod that the CronJob would have made at an hour. The
// annotation with the scheduled time is on the Job alone, so a real pod finds
// that variable empty and goes by its Job's name; both are given here.
func (j cronJob) fields(hour time.Time) map[string]string {
	return map[string]string{
		scheduledAnnotation: hour.UTC().Format(time.RFC3339),
		jobNameLabel:        fmt.Sprintf("%s-%d", j.Metadata.Name, hour.Unix()/60),
	}
}

// environment resolves a container's variables as a kubelet would, given the
// fields of its pod.
func (p *Product) environment(ctx context.Context, namespace, account string, variables []variable, fields map[string]string) ([]string, error) {
	kubeconfig, err := p.Credentials(ctx, namespace, account)
	if err != nil {
		return nil, err
	}
	env := append(cleanEnvironment(), "KUBECONFIG="+kubeconfig)
	for _, v := range variables {
		value := v.Value
		switch {
		case v.ValueFrom == nil:
		case v.ValueFrom.SecretKeyRef != nil:
			if value, err = p.secret(ctx, namespace, v.ValueFrom.SecretKeyRef.Name, v.ValueFrom.SecretKeyRef.Key); err != nil {
				return nil, err
			}
		default:
			var known bool
			if v.ValueFrom.FieldRef != nil {
				value, known = fields[v.ValueFrom.FieldRef.FieldPath]
			}
			if !known {
				return nil, fmt.Errorf("variable %s has a source that the harness does not know", v.Name)
			}
		}
		env = append(env, v.Name+"="+value)
	}
	return env, nil
}

func (p *Product) secret(ctx context.Context, namespace, name, key string) (string, error) {
	var secret struct{ Data map[string]string }
	if err := p.Kubectl.Get(ctx, &secret, "secret", name, "--namespace="+namespace); err != nil {
		return "", err
	}
	value, err := base64.StdEncoding.DecodeString(secret.Data[key])
	if err != nil || len(value) == 0 {
		return "", errors.Join(fmt.Errorf("secret %q has nothing under %q", name, key), err)
	}
	return string(value), nil
}

func (p *Product) run(ctx context.Context, log string, args, env []string) (Usage, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return Usage{}, fmt.Errorf("cannot open the log of a run: %w", err)
	}
	defer func() { _ = out.Close() }()
	cmd := process.Command(ctx, p.Binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return Usage{}, fmt.Errorf("provider-finops %s failed: %w; its log %s ends with:\n%s", strings.Join(args, " "), err, log, process.Tail(log, 15))
	}
	usage := Usage{Wall: time.Since(began), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		usage.MemoryBytes = r.Maxrss << 10
	}
	return usage, nil
}
