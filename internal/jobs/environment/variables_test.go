package environment

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRefusals reads what cannot be used. Every complaint names the variable and
// its value, but for one that may be a secret.
func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  string
		read   func(*Variables)
		want   string
	}{
		"Missing": {
			"Nothing can be done without it.", "",
			func(v *Variables) { v.Required("A_NAME") },
			"environment variable A_NAME must be set",
		},
		"Choice": {
			"A word that is neither would be taken for the fallback in silence.", "newest",
			func(v *Variables) { v.Choice("A_NAME", "namespace", "active") },
			`environment variable A_NAME must be "namespace" or "active", not "newest"`,
		},
		"Fraction": {
			"Not a whole number.", "1e3",
			func(v *Variables) { v.Whole("A_NAME", "days", 31, 0) },
			`environment variable A_NAME must be a number of days of at least 31, not "1e3"`,
		},
		"TooFew": {
			"The bound itself is enough.", "30",
			func(v *Variables) { v.Whole("A_NAME", "days", 31, 0) },
			`environment variable A_NAME must be a number of days of at least 31, not "30"`,
		},
		"TooLarge": {
			"It does not fit.", "9223372036854775808",
			func(v *Variables) { v.Whole("A_NAME", "micros", 1, 0) },
			`environment variable A_NAME must be a number of micros of at least 1, not "9223372036854775808"`,
		},
		"NoUnit": {
			"Ten of what?", "10",
			func(v *Variables) { v.Duration("A_NAME", 0) },
			`environment variable A_NAME must be a duration such as 10m, not "10"`,
		},
		"Negative": {
			"Time does not run backwards.", "-1m",
			func(v *Variables) { v.Duration("A_NAME", 0) },
			`environment variable A_NAME must be a duration such as 10m, not "-1m"`,
		},
		"TooLong": {
			"More than an hour is none of an hour.", "61m",
			func(v *Variables) { v.Within("A_NAME", "1m", "a part of an hour", time.Second, time.Hour) },
			`environment variable A_NAME must be a part of an hour, not "61m"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := Of(func(string) string { return tc.value })
			tc.read(v)
			if err := v.Err(); err == nil || err.Error() != tc.want {
				t.Errorf("%s\nwant %s, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestAccepted reads what can be used, and what is passed over.
func TestAccepted(t *testing.T) {
	env := map[string]string{"DAYS": "31", "WAIT": "soon", "PATIENCE": "90s", "DELAY": "0", "STEP": "60m", "WORD": "active", "EMPTY": ""}
	v := Of(func(name string) string { return env[name] })
	got := []any{
		v.Whole("DAYS", "days", 31, 0), v.Whole("EMPTY", "days", 31, 0), v.Timeout("WAIT", time.Minute), v.Timeout("PATIENCE", time.Minute),
		v.Timeout("EMPTY", time.Minute), v.Duration("DELAY", time.Hour), v.Duration("EMPTY", time.Hour), v.Within("STEP", "1h", "an hour", time.Hour, time.Hour),
		v.Choice("WORD", "namespace", "active"), v.Choice("EMPTY", "namespace", "active"), v.Text("EMPTY", "fallback"),
	}
	want := []any{
		int64(31), int64(0), time.Minute, 90 * time.Second, time.Minute, time.Duration(0), time.Hour, "60m", "active", "namespace", "fallback",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if err := v.Err(); err != nil {
		t.Errorf("Nothing of that is wrong: %v", err)
	}
	said := []string{`WAIT is "soon", which is no duration to wait for; using 1m0s`}
	if diff := cmp.Diff(said, v.Notes()); diff != "" {
		t.Errorf("A timeout that is none is said and fails nothing: -want, +got:\n%s", diff)
	}
}

// TestSecrets makes everything wrong at once: no complaint shows a password.
func TestSecrets(t *testing.T) {
	v := Of(func(name string) string {
		if name == "POSTGRES_CONNECTION_STRING" || name == "COSTJOB_NAME" {
			return "postgres://me:hunter2@db"
		}
		return "wrong"
	})
	v.Database("test")
	v.Aggregation()
	v.Limits()
	v.DatabaseInitTimeout()
	if err := v.Err(); err == nil || len(strings.Split(err.Error(), "\n")) != 5 || strings.Contains(err.Error()+strings.Join(v.Notes(), ""), "hunter2") {
		t.Errorf("Want five complaints without a password, got %v", err)
	}
}
