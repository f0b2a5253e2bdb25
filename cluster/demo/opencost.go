package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// allocations asks OpenCost itself about one hour, in the order of names.
func (d *demo) allocations(ctx context.Context, hour time.Time) ([]allocation, error) {
	query := url.Values{
		"window":    {hour.Format(time.RFC3339) + "," + hour.Add(time.Hour).Format(time.RFC3339)},
		"aggregate": {"namespace,pod,container"},
		"step":      {"1h"},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Testbed.OpenCost+"/allocation?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot ask OpenCost: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data []map[string]allocation `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Data) != 1 {
		return nil, fmt.Errorf("cannot read OpenCost's answer about %s: %w", hour.Format(time.RFC3339), cmp.Or(err, fmt.Errorf("want one set, got %d", len(answer.Data))))
	}
	all := make([]allocation, 0, len(answer.Data[0]))
	for _, a := range answer.Data[0] {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b allocation) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// selects says whether the workload is one of the Subscription's. The demo's
// sources name namespaces and controllers only.
func (s subscription) selects(a allocation) bool {
	return slices.ContainsFunc(s.Spec.UsageSources, func(source usageSource) bool {
		return (source.Namespace == "" || source.Namespace == a.Properties.Namespace) &&
			(source.Name == "" || source.Name == a.Properties.Controller) &&
			(source.ResourceType == "" || strings.EqualFold(source.ResourceType, a.Properties.ControllerKind))
	})
}
