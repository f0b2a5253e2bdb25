package main

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionOf(t *testing.T) {
	stamp := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
	}
	cases := map[string]struct {
		reason string
		info   debug.BuildInfo
		want   string
	}{
		"Release":  {reason: "A module that was fetched has a version.", info: debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, want: "v1.2.3"},
		"Commit":   {reason: "A build that was stamped names its commit.", info: debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: stamp("9f2c", "false")}, want: "9f2c"},
		"Modified": {reason: "What is in no commit is said.", info: debug.BuildInfo{Settings: stamp("9f2c", "true")}, want: "9f2c (modified)"},
		"Nothing":  {reason: "Without a stamp it is somebody's own build.", want: "dev"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, versionOf(&tc.info)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// What the command line says: help and version on stdout, one mistake in one
// line on stderr.
func TestCommandLine(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		stdout string // How it begins.
		stderr string
	}{
		"Help":        {reason: "Who asks for help can page through it.", args: []string{"--help"}, stdout: "provider-finops bills Kubernetes tenants."},
		"Version":     {reason: "The version is one line.", args: []string{"--version"}, stdout: "provider-finops " + version() + "\n"},
		"UnknownFlag": {reason: "A mistake is not buried under the help.", args: []string{"--bogus"}, code: 2, stderr: "provider-finops: flag provided but not defined: -bogus\nSee --help.\n"},
		"BadMode":     {reason: "A value is named with what it may be.", args: []string{"--mode=bogus"}, code: 2, stderr: "provider-finops: --mode must be one of controller, cronjob, collectionjob, not \"bogus\"\nSee --help.\n"},
		"CommandFlag": {reason: "So it is with the commands.", args: []string{"verify", "--bogus"}, code: 2, stderr: "provider-finops: flag provided but not defined: -bogus\nSee --help.\n"},
		"CommandHelp": {reason: "Each of them explains itself.", args: []string{"verify", "--help"}, stdout: "provider-finops verify"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), tc.args, environmentOf(nil), &stdout, &stderr)
			if diff := cmp.Diff(tc.code, code); diff != "" {
				t.Errorf("%s\nexit code: -want, +got:\n%s", tc.reason, diff)
			}
			if !strings.HasPrefix(stdout.String(), tc.stdout) || (tc.stdout == "") != (stdout.Len() == 0) {
				t.Errorf("%s\nstdout: want it to begin with %q, got %q", tc.reason, tc.stdout, &stdout)
			}
			if diff := cmp.Diff(tc.stderr, stderr.String()); diff != "" {
				t.Errorf("%s\nstderr: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
