package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommands looks at what is refused before anything is connected to, and at
// what the exit code is.
func TestCommands(t *testing.T) {
	database := map[string]string{"POSTGRES_CONNECTION_STRING": "postgres://nobody@127.0.0.1:1/none?connect_timeout=1"}
	cases := map[string]struct {
		reason string
		args   []string
		env    map[string]string
		code   int
		said   string
	}{
		"VerifyHelp":      {"Help is no failure.", []string{"verify", "--help"}, nil, 0, "Computes every final charge again"},
		"ExplainHelp":     {"Help is no failure.", []string{"explain", "--help"}, nil, 0, "Shows where a figure comes from"},
		"NoDatabase":      {"The variable that is missing is named.", []string{"verify"}, nil, 2, "POSTGRES_CONNECTION_STRING must be set"},
		"WrongHour":       {"An hour that cannot be read is not the first there is.", []string{"verify", "--from", "yesterday"}, database, 2, `cannot read "yesterday"`},
		"NoHour":          {"To find no difference in no hour would say that all is well.", []string{"verify", "--from", "2026-05", "--to", "2026-04"}, database, 2, `cannot verify from "2026-05" to "2026-04"`},
		"TooMany":         {"Nothing is passed over.", []string{"verify", "2026-04"}, database, 2, "verify takes 0 arguments besides flags, which come first, not 1"},
		"NothingToShow":   {"Somebody has to be named.", []string{"explain", "acme/web"}, database, 2, "explain takes 2 to 3 arguments besides flags, which come first, not 1: provider-finops explain NAMESPACE/NAME|UID PERIOD [SOURCE]\n"},
		"WrongSource":     {"There is no such meter.", []string{"explain", "acme/web", "2026-04", "egress"}, database, 2, `cannot explain "egress"`},
		"CannotLook":      {"Nothing was verified, which is not the same as no difference.", []string{"verify"}, database, 1, "cannot"},
		"CannotLookThere": {"Nothing was found.", []string{"explain", "acme/web", "2026-04"}, database, 1, "cannot"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), tc.args, func(name string) string { return tc.env[name] }, &stdout, &stderr)
			if code != tc.code || !strings.Contains(stdout.String()+stderr.String(), tc.said) {
				t.Errorf("%s\nrun(%q): want exit code %d and %q, got %d, %s%s", tc.reason, tc.args, tc.code, tc.said, code, &stdout, &stderr)
			}
		})
	}
}
