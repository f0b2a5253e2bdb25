package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/rights"
)

// elsewhere are rights that no story can be seen to use, and why they are
// granted all the same.
var elsewhere = []string{
	// Asked for by a server that checks who may block the deletion of an owner; ours does not.
	"finops-operator-manager-role: update costjobs/finalizers.finops.stakater.com",
	// For a CostJob whose interval is none of the documented ones: its annotation says what it came to.
	"finops-operator-manager-role: patch costjobs.finops.stakater.com",
	// When the connection string has changed.
	"finops-operator-manager-role: update secrets",
	// Asked for when somebody scrapes, which the stories of the node do.
	"finops-operator-metrics-auth-role: create subjectaccessreviews.authorization.k8s.io",
	"finops-operator-metrics-auth-role: create tokenreviews.authentication.k8s.io",
}

// asked gathers what the product's accounts asked for, over all stories.
type asked struct {
	mu      sync.Mutex
	record  rights.Record
	granted rights.Granted
}

// look fails if anything was refused in a story for want of rights.
func (a *asked) look(ctx context.Context, kubectl product.Kubectl, auditLog string) error {
	record, err := rights.Read(auditLog)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.record.Add(record)
	if a.granted == nil {
		list, err := kubectl.Run(ctx, "get", "clusterroles,clusterrolebindings,roles,rolebindings", "--all-namespaces", "--output=json")
		if err != nil {
			return err
		}
		if a.granted, err = rights.Grants([]byte(list)); err != nil {
			return err
		}
	}
	if len(record.Refused) > 0 {
		return fmt.Errorf("the product was refused what it has no right to:\n  %s", strings.Join(record.Refused, "\n  "))
	}
	return nil
}

// unused fails if a role grants what none of the stories needs. What targets
// may be read is the user's to say.
func (a *asked) unused() error {
	unused := a.granted.Unused(a.record, func(role string) bool {
		return strings.HasPrefix(role, "finops-operator-") && !strings.Contains(role, "target-reader")
	})
	unused = slices.DeleteFunc(unused, func(right string) bool { return slices.Contains(elsewhere, right) })
	if len(unused) > 0 {
		return fmt.Errorf("cluster/install/access grants what no story needs:\n  %s", strings.Join(unused, "\n  "))
	}
	return nil
}
