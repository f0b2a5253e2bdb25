package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
)

// tracedKinds are what stories make outside of their namespaces.
const tracedKinds = "namespaces,clusterroles,customresourcedefinitions,finops"

// maker is what kuttl calls itself where it creates something. What others make
// in the meantime is theirs.
const maker = "kubectl-kuttl"

// An object is one of those in somebody's cluster.
type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
}

type metadata struct {
	UID           string    `json:"uid"`
	Namespace     string    `json:"namespace"`
	Name          string    `json:"name"`
	ManagedFields []manager `json:"managedFields"`
}

type manager struct {
	Manager string `json:"manager"`
}

// arguments name it to kubectl: its kind with the version and the group, as
// others may have one of that name.
func (o object) arguments() []string {
	kind := o.Kind
	if group, version, ok := strings.Cut(o.APIVersion, "/"); ok {
		kind += "." + version + "." + group
	}
	args := []string{kind, o.Metadata.Name}
	if o.Metadata.Namespace != "" {
		args = append(args, "--namespace="+o.Metadata.Namespace)
	}
	return args
}

func (o object) made() bool {
	return slices.ContainsFunc(o.Metadata.ManagedFields, func(m manager) bool { return m.Manager == maker })
}

// traces knows what was in somebody's cluster before a story.
type traces struct {
	kubectl product.Kubectl
	before  map[string]bool // By UID.
}

func lookAround(ctx context.Context, kubectl product.Kubectl) (t traces, err error) {
	t = traces{kubectl: kubectl, before: map[string]bool{}}
	found, err := t.list(ctx)
	for _, o := range found {
		t.before[o.Metadata.UID] = true
	}
	return t, err
}

func (t traces) list(ctx context.Context) ([]object, error) {
	var list struct{ Items []object }
	err := t.kubectl.Get(ctx, &list, tracedKinds, "--all-namespaces", "--show-managed-fields")
	return list.Items, err
}

// remove deletes what the story has made outside of its namespace. Contracts that
// were made in moved time are not waited for: the hour of their end is years ahead,
// so it is given up, as an administrator may.
func (t traces) remove(ctx context.Context, namespace string) error {
	found, err := t.list(ctx)
	if err != nil {
		return err
	}
	contracts, others := t.sort(found, namespace)
	if err := t.end(ctx, contracts); err != nil {
		return err
	}
	for _, o := range others {
		timeout := "--timeout=" + settleTimeout.String()
		err = errors.Join(err, t.try(ctx, append([]string{"delete", "--ignore-not-found", timeout}, o.arguments()...)...))
	}
	return err
}

// sort tells Subscriptions from everything else that is to go, that in the order
// in which it can: nothing is deleted by itself that goes with its namespace.
func (t traces) sort(found []object, namespace string) (contracts, others []object) {
	namespaces := map[string]bool{}
	for _, o := range found {
		if o.Kind == "Namespace" && o.made() && !t.before[o.Metadata.UID] {
			namespaces[o.Metadata.Name] = true
		}
	}
	for _, o := range found {
		within := namespaces[o.Metadata.Namespace]
		switch {
		case t.before[o.Metadata.UID] || o.Metadata.Namespace == namespace || !within && !o.made():
		case o.Kind == "Subscription":
			contracts = append(contracts, o)
		case !within:
			others = append(others, o)
		}
	}
	last := func(o object) int {
		return slices.Index([]string{"Namespace", "CustomResourceDefinition", "ClusterRole"}, o.Kind)
	}
	slices.SortStableFunc(others, func(a, b object) int { return cmp.Compare(last(a), last(b)) })
	return contracts, others
}

// end deletes Subscriptions, and lets each go once it has ended.
func (t traces) end(ctx context.Context, contracts []object) error {
	for _, c := range contracts {
		if err := t.try(ctx, append([]string{"delete", "--wait=false", "--ignore-not-found"}, c.arguments()...)...); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for _, c := range contracts {
		if err := process.WaitFor(ctx, "Subscription "+c.Metadata.Name+" to end", func(ctx context.Context) error { return t.letGo(ctx, c) }); err != nil {
			return err
		}
	}
	return nil
}

// letGo gives up the last hour of a Subscription that is deleted and has ended.
func (t traces) letGo(ctx context.Context, contract object) error {
	text, err := t.kubectl.Run(ctx, append([]string{
		"get", "--ignore-not-found", "--output=jsonpath={.status.activatedAt}/{.status.deactivatedAt}",
	}, contract.arguments()...)...)
	if err != nil || text == "" { // It has gone by itself.
		return err
	}
	if began, ended, _ := strings.Cut(text, "/"); began != "" && ended == "" {
		return fmt.Errorf("it is active since %s", began)
	}
	return t.try(ctx, append([]string{"patch", "--type=merge", `--patch={"metadata":{"finalizers":null}}`}, contract.arguments()...)...)
}

func (t traces) try(ctx context.Context, args ...string) error {
	_, err := t.kubectl.Run(ctx, args...)
	return err
}
