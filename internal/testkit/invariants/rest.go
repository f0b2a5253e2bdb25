package invariants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// patience is how long what has to come true may take.
const patience = 3 * time.Minute

const between = 20 * time.Millisecond

// eventually waits until a look finds nothing, and returns what the last one has
// found.
func (w World) eventually(ctx context.Context, look func(context.Context) ([]string, error)) ([]string, error) {
	var found []string
	var failed error
	err := wait.PollUntilContextTimeout(ctx, between, cmp.Or(w.Patience, patience), true, func(context.Context) (bool, error) { // The last look is not cut off.
		found, failed = look(ctx)
		return len(found) == 0 && failed == nil, nil
	})
	if wait.Interrupted(err) {
		err = nil // What was found says more.
	}
	return found, errors.Join(failed, err)
}

// rest waits until nothing of ours has changed for so many looks.
func (w World) rest(ctx context.Context) ([]string, error) {
	var last map[string]string
	quiet := 0
	return w.eventually(ctx, func(ctx context.Context) ([]string, error) {
		now, err := w.versions(ctx)
		if err != nil {
			return nil, err
		}
		if quiet++; !maps.Equal(last, now) {
			last, quiet = now, 0
		}
		if quiet < w.Rest {
			return []string{fmt.Sprintf("I9: no rest for more than %d of %d looks", quiet, w.Rest)}, nil
		}
		return nil, nil
	})
}

// versions are the resource versions of everything of ours.
func (w World) versions(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	for _, kind := range []string{"FinOpsProvider", "PriceBook", "CostJob", "Offering", "Subscription"} {
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		if err := w.API.List(ctx, l); err != nil {
			return nil, err
		}
		for i := range l.Items {
			versions[string(l.Items[i].UID)] = l.Items[i].ResourceVersion
		}
	}
	return versions, nil
}

// sessions waits until nobody is left in the database but the test.
func (w World) sessions(ctx context.Context) ([]string, error) {
	return w.eventually(ctx, func(ctx context.Context) ([]string, error) {
		return w.texts(ctx, `
WITH others AS (
    SELECT * FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'pgtest'
)
SELECT concat_ws(' ', 'I11:', application_name, 'is in a transaction since', xact_start, 'and is', state, 'after', query)
  FROM others WHERE xact_start IS NOT NULL
 UNION ALL
SELECT concat_ws(' ', 'I11: there are', count(*), 'sessions, and may be', $1::int)
  FROM others HAVING count(*) > $1
 UNION ALL
SELECT concat_ws(' ', 'I11:', application_name, 'holds the lock', classid, objid)
  FROM pg_locks JOIN others USING (pid) WHERE locktype = 'advisory' AND $1::int = 0
 ORDER BY 1`, w.Sessions)
	})
}

// records looks at what was written down of runs.
func (w World) records(ctx context.Context) ([]string, error) {
	var l v1alpha1.CostJobList
	if err := w.API.List(ctx, &l); err != nil {
		return nil, err
	}
	var found []string
	missing := maps.Clone(w.Records)
	for i := range l.Items {
		j := &l.Items[i]
		key, history := client.ObjectKeyFromObject(j), j.Status.ExecutionHistory
		delete(missing, key)
		if want, known := w.Records[key]; known && len(history) != min(want, v1alpha1.MaxExecutionHistory) {
			found = append(found, fmt.Sprintf("I10: %s has %d records of %d runs", key, len(history), want))
		}
		if len(history) > v1alpha1.MaxExecutionHistory {
			found = append(found, fmt.Sprintf("I10: %s keeps %d records", key, len(history)))
		}
		for n := 1; n < len(history); n++ {
			if history[n-1].ExecutionTime.Before(&history[n].ExecutionTime) {
				found = append(found, fmt.Sprintf("I10: %s has the record of %s before that of %s", key, history[n-1].ExecutionTime, history[n].ExecutionTime))
			}
		}
		if len(history) > 0 && (j.Status.LastExecutionTime == nil || !j.Status.LastExecutionTime.Equal(&history[0].ExecutionTime) || j.Status.LastExecutionStatus != history[0].Status) {
			found = append(found, fmt.Sprintf("I10: %s last ran at %v with %s, its newest record says %s with %s",
				key, j.Status.LastExecutionTime, j.Status.LastExecutionStatus, history[0].ExecutionTime, history[0].Status))
		}
	}
	for key, runs := range missing {
		found = append(found, fmt.Sprintf("I10: %s is not there, with the records of %d runs", key, runs))
	}
	return found, nil
}
