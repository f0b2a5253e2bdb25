package charge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestOneConnection runs on a connection string that allows one connection. The
// run needs two at once and must not wait for itself.
func TestOneConnection(t *testing.T) {
	db := pgtest.Database(t)
	plantCrowd(t, db, 3, at("2026-03-05T00:00:00Z"), 24)
	settings := crowdSettings(db.DSN)
	settings.Database.DSN += map[bool]string{true: "&", false: "?"}[strings.Contains(db.DSN, "?")] + "pool_max_conns=1"
	settings.Hint.Scheduled = crowdHour

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := charge.Run(ctx, settings, charge.Dependencies{
		Client: crowdOf(3, 0).client(), Clock: clocktesting.NewFakePassiveClock(at(crowdHour)), Log: logr.Discard(),
	})
	if err != nil {
		t.Errorf("A run on pool_max_conns=1: %v", err)
	}
	verified(t, db, "crowd")
}
