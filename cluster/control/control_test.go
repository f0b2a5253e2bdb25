package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/product"
)

// A recorder remembers what it was asked to do, and fails if told to.
type recorder struct {
	asked []string
	err   error
}

func (r *recorder) MoveTo(_ context.Context, at time.Time) error {
	r.asked = append(r.asked, "time "+at.Format(time.RFC3339))
	return r.err
}

func (r *recorder) Configure(_ context.Context, settings []string) error {
	r.asked = append(r.asked, fmt.Sprintf("controller %q", settings))
	return r.err
}

func (r *recorder) RunCostJob(_ context.Context, namespace, name string, hour time.Time) (product.Usage, error) {
	r.asked = append(r.asked, fmt.Sprintf("costjob %s/%s %s", namespace, name, hour.Format(time.RFC3339)))
	return product.Usage{}, r.err
}

func TestControl(t *testing.T) {
	at := time.Date(2031, 3, 3, 9, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		ask    func(ctx context.Context, server string) error
		err    error
		want   []string
	}{
		"Time": {
			reason: "A step sets business time.",
			ask:    func(ctx context.Context, server string) error { return MoveTime(ctx, server, at) },
			want:   []string{"time 2031-03-03T09:00:00Z"},
		},
		"Controller": {
			reason: "A step runs the controller with other settings, in their order.",
			ask: func(ctx context.Context, server string) error {
				return Configure(ctx, server, []string{"MTO_ENABLED=true", "--pricebook-namespaces=a,b"})
			},
			want: []string{`controller ["MTO_ENABLED=true" "--pricebook-namespaces=a,b"]`},
		},
		"CostJob": {
			reason: "A step runs a CostJob for an hour.",
			ask: func(ctx context.Context, server string) error {
				return RunCostJob(ctx, server, "system", "charges & more", at)
			},
			want: []string{"costjob system/charges & more 2031-03-03T09:00:00Z"},
		},
		"Failure": {
			reason: "What went wrong is told to the step, in full.",
			ask: func(ctx context.Context, server string) error {
				return RunCostJob(ctx, server, "system", "charges", at)
			},
			err:  errors.New("exit status 1; its log ends with:\n    no database"),
			want: []string{"costjob system/charges 2031-03-03T09:00:00Z"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &recorder{err: tc.err}
			server, err := Serve(r)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Stop)
			err = tc.ask(t.Context(), server.URL)
			if diff := cmp.Diff(fmt.Sprint(tc.err), fmt.Sprint(err)); diff != "" {
				t.Errorf("%s\nerror: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, r.asked); diff != "" {
				t.Errorf("%s\nasked: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOutsideOfAStory(t *testing.T) {
	err := MoveTime(t.Context(), "", time.Time{})
	if err == nil || !strings.Contains(err.Error(), Variable) {
		t.Errorf("got %v, want an error that names %s", err, Variable)
	}
}
