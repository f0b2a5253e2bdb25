package charge_test

import (
	"testing"

	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// world is what the invariants look at on a stage.
func (s *stage) world() invariants.World {
	return invariants.World{API: s.api, DB: s.db.Pool, Cluster: s.cluster, Aggregation: aggregation}
}

// holds checks everything that has to hold after a fault, before being what was
// final when it struck. Then the run of that hour is done again.
func (s *stage) holds(before invariants.Past, hourText string) {
	s.Helper()
	w := s.world()
	w.Before = before
	w.Replay = func() error { return s.run(hourText) }
	invariants.Check(s.T, w)
}

// verified checks what the database alone can tell of a cluster.
func verified(t *testing.T, db pgtest.DB, cluster string) {
	t.Helper()
	invariants.Check(t, invariants.World{DB: db.Pool, Cluster: cluster, Aggregation: aggregation})
}
