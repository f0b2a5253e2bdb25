package docs_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/jobs/allocation"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/jobs/retention"
)

// reads is what the settings of a job are by an environment, in words.
type reads func(env map[string]string) string

// The jobs, as the table names them.
var readers = map[string]reads{
	"allocation": func(env map[string]string) string {
		s, err := allocation.FromEnvironment(func(name string) string { return env[name] })
		return fmt.Sprintf("%+v %v", s, err)
	},
	"charge": func(env map[string]string) string {
		getenv := func(name string) string { return env[name] }
		s, err := charge.FromEnvironment(getenv)
		kept, unreadable := retention.FromEnvironment(getenv)
		return fmt.Sprintf("%+v %+v %v", s, kept, errors.Join(err, unreadable))
	},
}

// TestVariablesOfTheCollectors holds the table against what reads them: who does,
// and what stands in the place of one that is not set.
func TestVariablesOfTheCollectors(t *testing.T) {
	page := read(t, "reference/configuration.md")
	_, table, found := strings.Cut(page, "\n## Variables of the collectors\n")
	if !found {
		t.Fatal("the page has no table of the collectors' variables")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	least := map[string]string{
		"POSTGRES_CONNECTION_STRING": "host=db", "OPENCOST_CONNECTION_STRING": "http://opencost:9003", "COSTJOB_NAME": "n", "COSTJOB_NAMESPACE": "ns",
	}
	with := func(name, value string) map[string]string {
		env := map[string]string{name: value}
		for n, v := range least {
			if n != name {
				env[n] = v
			}
		}
		return env
	}

	code := regexp.MustCompile("`([^`]+)`")
	read := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		by, fallback := strings.TrimSpace(cells[2]), code.FindStringSubmatch(cells[3])
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			name := m[1]
			if slices.Contains([]string{"TMPDIR", "GOMEMLIMIT", "LEGACY_REFERENCE_NAMESPACES"}, name) {
				continue // Go's own, and what decides which client a job is given.
			}
			read++
			var readBy []string
			for _, job := range []string{"allocation", "charge"} {
				if readers[job](with(name, "no-such-value")) != readers[job](least) {
					readBy = append(readBy, job)
				}
				if fallback != nil && readers[job](with(name, fallback[1])) != readers[job](least) {
					t.Errorf("%s: the %s run does not take %q if it is not set", name, job, fallback[1])
				}
			}
			got := strings.Join(readBy, " ")
			if got == "allocation charge" {
				got = "both"
			}
			if diff := cmp.Diff(by, got); diff != "" {
				t.Errorf("%s: -said to be read by, +read by:\n%s", name, diff)
			}
		}
	}
	if read < 24 {
		t.Errorf("only %d variables", read)
	}
}
