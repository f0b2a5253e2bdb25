package invariants

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// buckets adds up the rows of every bucket that is shown, source by source.
func (w World) buckets(ctx context.Context) ([]string, error) {
	all, err := w.subscriptions(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for i := range all {
		s := &all[i]
		// One that was computed without the rows says so.
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.TypeCostsResolved); c == nil || c.Reason != v1alpha1.ReasonFromDB {
			continue
		}
		for _, b := range s.Status.Costs {
			want, err := w.sums(ctx, string(s.UID), b)
			if err != nil {
				return found, err
			}
			if got := shown(b); got != want {
				found = append(found, fmt.Sprintf("I3: the %s of %s/%s from %s says %s, its rows %s", b.Granularity, s.Namespace, s.Name, b.Start, got, want))
			}
		}
	}
	return found, nil
}

// sums are what the rows of a bucket's span add up to: all of it, and by source.
func (w World) sums(ctx context.Context, uid string, b v1alpha1.CostBucket) (string, error) {
	lines, err := w.texts(ctx, `
SELECT coalesce(sum(amount), 0) || coalesce(string_agg(' ' || charge_source || '=' || amount, '' ORDER BY charge_source COLLATE "C"), '')
  FROM (SELECT charge_source, sum(amount_micros) AS amount
          FROM subscription_charges
         WHERE cluster_id = $1 AND subscription_uid = $2 AND window_start >= $3 AND window_start < $4
         GROUP BY charge_source
        HAVING sum(amount_micros) > 0) AS by_source`, w.Cluster, uid, b.Start.Time, b.EndExclusive.Time)
	if err != nil {
		return "", err
	}
	return lines[0], nil
}

func shown(b v1alpha1.CostBucket) string {
	parts := map[string]int64{}
	for _, m := range b.Breakdown {
		parts[string(m.Name)] += m.Current
	}
	words := []string{strconv.FormatInt(b.Current, 10)}
	for _, source := range slices.Sorted(maps.Keys(parts)) {
		if parts[source] != 0 {
			words = append(words, fmt.Sprintf("%s=%d", source, parts[source]))
		}
	}
	return strings.Join(words, " ")
}
