package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// TestHandedOn checks that what the controller hands on to the pods means the
// same to it as to them, and that what they would refuse it refuses: else it runs,
// and each of their runs fails.
func TestHandedOn(t *testing.T) {
	required := map[string]string{
		"POSTGRES_CONNECTION_STRING": "postgres://db", "OPENCOST_CONNECTION_STRING": "http://opencost:9003",
		"OPENCOST_DEPLOYMENT_NAME": "opencost", "OPENCOST_DEPLOYMENT_NAMESPACE": "opencost",
	}
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   collection.Limits
		err    string
	}{
		"Nothing": {
			reason: "The lookback is the template's, the rest the pods' own.",
			want:   collection.Limits{LookbackHours: 5, BackfillHours: 72, ConfirmAfter: 3 * time.Hour},
		},
		"Everything": {
			reason: "All of it is read.",
			env:    map[string]string{"HOURS_LOOKBACK": "8", "MAX_BACKFILL_HOURS": "240", "SETTLE_DELAY": "10m", "EMPTY_CONFIRM_AFTER": "6h"},
			want:   collection.Limits{LookbackHours: 8, BackfillHours: 240, SettleDelay: 10 * time.Minute, ConfirmAfter: 6 * time.Hour},
		},
		"TooFarBack": {
			reason: "The pods refuse it.",
			env:    map[string]string{"MAX_BACKFILL_HOURS": "100000"},
			err:    `environment variable MAX_BACKFILL_HOURS must be a number of hours from 0 to 8784, not "100000"`,
		},
		"NoDuration": {
			reason: "The pods refuse it.",
			env:    map[string]string{"SETTLE_DELAY": "ten minutes"},
			err:    `environment variable SETTLE_DELAY must be a duration such as 10m, not "ten minutes"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := readEnvironment(func(name string) string {
				if value, ok := tc.env[name]; ok {
					return value
				}
				return required[name]
			})
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s\nreadEnvironment(...): want error %q, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.want, e.limits); diff != "" {
				t.Errorf("%s\nreadEnvironment(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
