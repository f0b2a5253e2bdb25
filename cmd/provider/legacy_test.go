package main

import (
	"io"
	"testing"

	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
)

// TestReadsLegacyReferences is on by the flag, or by the variable that pods are
// told by, and by nothing less than "true".
func TestReadsLegacyReferences(t *testing.T) {
	cases := map[string]struct {
		reason   string
		args     []string
		variable string
		want     bool
	}{
		"Default":  {reason: "References are read as they stand."},
		"Flag":     {reason: "The controller's switch.", args: []string{"--legacy-reference-namespaces"}, want: true},
		"Variable": {reason: "What the controller hands to the pods.", variable: "true", want: true},
		"Other":    {reason: "A wish that is not understood changes nothing.", variable: "yes"},
		"FlagOff":  {reason: "It can be said that it is off.", args: []string{"--legacy-reference-namespaces=false"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := parse(c.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			getenv := func(name string) string {
				if name == costjob.LegacyReferences {
					return c.variable
				}
				return ""
			}
			if got := readsLegacyReferences(f, getenv); got != c.want {
				t.Errorf("%s: want %t, got %t", c.reason, c.want, got)
			}
		})
	}
}
