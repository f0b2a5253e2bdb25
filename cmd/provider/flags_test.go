package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/offer"
)

// TestPriceFlags reads the flags of the price books.
func TestPriceFlags(t *testing.T) {
	type want struct {
		Namespaces []string
		Interval   time.Duration
		Wrong      string
	}
	cases := map[string]struct {
		reason string
		args   []string
		want   want
	}{
		"Defaults": {
			reason: "All namespaces take part, and nobody wishes restarts to be rarer.",
		},
		"Set": {
			reason: "Blanks around a name are no part of it.",
			args:   []string{"--pricebook-namespaces=finops-operator-system, prices", "--opencost-restart-min-interval=5m"},
			want:   want{Namespaces: []string{"finops-operator-system", "prices"}, Interval: 5 * time.Minute},
		},
		"EmptyName": {
			reason: "A list that names nobody must not admit everybody.",
			args:   []string{"--pricebook-namespaces= "},
			want:   want{Wrong: `--pricebook-namespaces must be names of namespaces, separated by commas: "" is none`},
		},
		"NoName": {
			reason: "A pattern is no name; it would admit nobody without a word.",
			args:   []string{"--pricebook-namespaces=finops-*"},
			want:   want{Wrong: `--pricebook-namespaces must be names of namespaces, separated by commas: "finops-*" is none`},
		},
		"Negative": {
			reason: "A typing error is not taken for the default.",
			args:   []string{"--opencost-restart-min-interval=-5m"},
			want:   want{Wrong: "--opencost-restart-min-interval must not be negative, but is -5m0s"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := want{}
			if f, err := parse(tc.args, io.Discard); err != nil {
				got.Wrong = err.Error()
			} else {
				got = want{Namespaces: splitNames(f.priceBookNamespaces), Interval: f.openCostRestartMinInterval}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nparse(%q): -want, +got:\n%s", tc.reason, tc.args, diff)
			}
		})
	}
}

// TestChoiceFlags reads the flags that depart from the documented behaviour.
func TestChoiceFlags(t *testing.T) {
	type want struct {
		Guard   offer.Guard
		Kinds   []string
		Release time.Duration
		Wrong   string
	}
	cases := map[string]struct {
		reason string
		args   []string
		want   want
	}{
		"Defaults": {reason: "Nothing departs by itself."},
		"Set": {
			reason: "Kinds of the core have no group.",
			args:   []string{"--offering-guard=ready", "--target-kinds=v1/ConfigMap, apps/v1/Deployment", "--builtin-release-after=24h"},
			want:   want{Guard: offer.GuardReady, Kinds: []string{"v1/ConfigMap", "apps/v1/Deployment"}, Release: 24 * time.Hour},
		},
		"NoGuard": {
			reason: "A typing error is not taken for the default.",
			args:   []string{"--offering-guard=none"},
			want:   want{Wrong: `--offering-guard must be all or ready, not "none"`},
		},
		"NegativeRelease": {
			reason: "It is not taken for at once, nor for never.",
			args:   []string{"--builtin-release-after=-1h"},
			want:   want{Wrong: "--builtin-release-after must not be negative, but is -1h0m0s"},
		},
		"NoKind": {
			reason: "A kind without a version would permit nothing, without a word.",
			args:   []string{"--target-kinds=ConfigMap"},
			want:   want{Wrong: `--target-kinds must be kinds such as v1/ConfigMap or apps/v1/Deployment, separated by commas: "ConfigMap" is none`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := want{}
			if f, err := parse(tc.args, io.Discard); err != nil {
				got.Wrong = err.Error()
			} else {
				got = want{Guard: f.guard(), Kinds: splitNames(f.targetKinds), Release: f.builtinReleaseAfter}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nparse(%q): -want, +got:\n%s", tc.reason, tc.args, diff)
			}
		})
	}
}

// TestErrorIsALine logs an error as a mode does.
func TestErrorIsALine(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		traced bool
	}{
		"Default": {"Where in the program it was reported tells a user nothing.", nil, false},
		"Asked":   {"A developer asks for it.", []string{"--zap-stacktrace-level=error"}, true},
		"Devel":   {"The mode of developers has it.", []string{"--zap-devel", "--zap-encoder=json"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := parse(append([]string{"--mode=collectionjob"}, tc.args...), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			f.zap.DestWriter = &out
			newLogger(f).Error(errors.New("no such thing"), "cannot settle a Subscription") //nolint:err113 // Any will do.
			if traced := strings.Contains(out.String(), "TestErrorIsALine"); traced != tc.traced || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("%s Got:\n%s", tc.reason, &out)
			}
		})
	}
}
