package product

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

const allocationType = "ResourceCostCollection"

// soon is how long after the full hour its runs start.
const soon = 5 * time.Second

// costJob is what is read of a CostJob to run it.
type costJob struct {
	Metadata struct{ Namespace, Name string }
	Spec     struct{ Type string }
}

func (j costJob) String() string { return j.Metadata.Namespace + "/" + j.Metadata.Name }

// StartHour sets business time to just after the full hour.
func (p *Product) StartHour(ctx context.Context, hour time.Time) error {
	return p.MoveTo(ctx, hour.Add(soon))
}

// NextHour moves business time to the next full hour and runs every CostJob of
// the cluster for it, whatever its interval. It returns the hour and who has run.
func (p *Product) NextHour(ctx context.Context) (time.Time, []string, error) {
	return NextHour(ctx, p, p.Kubectl)
}

// A Mover moves time and runs CostJobs, in whatever way.
type Mover interface {
	Now() time.Time
	MoveTo(ctx context.Context, at time.Time) error
	RunCostJob(ctx context.Context, namespace, name string, hour time.Time) (Usage, error)
}

// NextHour does for any mover what the Product's own method says.
func NextHour(ctx context.Context, p Mover, kubectl Kubectl) (time.Time, []string, error) {
	hour := p.Now().Truncate(time.Hour).Add(time.Hour)
	if err := p.MoveTo(ctx, hour.Add(soon)); err != nil {
		return hour, nil, err
	}
	var list struct{ Items []costJob }
	if err := kubectl.Get(ctx, &list, "costjobs.finops.stakater.com", "--all-namespaces"); err != nil {
		return hour, nil, fmt.Errorf("cannot list the CostJobs: %w", err)
	}
	var ran []string
	for _, job := range inOrder(list.Items) {
		if _, err := p.RunCostJob(ctx, job.Metadata.Namespace, job.Metadata.Name, hour); err != nil {
			return hour, ran, err
		}
		ran = append(ran, job.String())
	}
	return hour, ran, nil
}

// inOrder puts those that measure before those that charge.
func inOrder(jobs []costJob) []costJob {
	rank := func(j costJob) int {
		if j.Spec.Type == allocationType {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(slices.Values(jobs), func(a, b costJob) int {
		if by := rank(a) - rank(b); by != 0 {
			return by
		}
		return strings.Compare(a.String(), b.String())
	})
}
