package database

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestChangedID starts a controller under several ids. Who changes the id of a
// cluster bills everybody anew, and is told so.
func TestChangedID(t *testing.T) {
	dsn := pgtest.Empty(t)
	starts := []struct {
		reason string
		owner  postgres.Owner
		former string // Empty if nothing is said.
	}{
		{"The first id is no change.", postgres.Owner{ClusterID: "blue", Identity: "a"}, ""},
		{"Nor is the same again.", postgres.Owner{ClusterID: "blue", Identity: "a"}, ""},
		{"Another cluster has another id.", postgres.Owner{ClusterID: "green", Identity: "b"}, ""},
		{"The first has another one.", postgres.Owner{ClusterID: "red", Identity: "a"}, "[blue]"},
		{"To go back is a change as well.", postgres.Owner{ClusterID: "blue", Identity: "a"}, "[red]"},
		{"Who does not know which cluster it is cannot tell.", postgres.Owner{ClusterID: "blue"}, ""},
	}
	for _, s := range starts {
		if diff := cmp.Diff(s.former, start(t, postgres.Config{DSN: dsn, Owner: s.owner})); diff != "" {
			t.Errorf("%s\n-want, +got:\n%s", s.reason, diff)
		}
	}
}

// start has a connection become ready and returns the former ids that its log names.
func start(t *testing.T, cfg postgres.Config) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	former := ""
	log := funcr.New(func(string, string) {}, funcr.Options{RenderArgsHook: func(kv []any) []any {
		if i := slices.Index(kv, any("formerIDs")); i >= 0 {
			former = fmt.Sprint(kv[i+1])
		}
		return kv
	}})
	c, err := New(ctx, cfg, clock.RealClock{}, logging.NewLogrLogger(log))
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	<-c.Ready()
	stop()
	running.Wait()
	return former
}
