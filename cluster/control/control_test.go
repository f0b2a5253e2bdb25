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

var noon = time.Date(2031, 3, 3, 12, 0, 0, 0, time.UTC)

// A recorder remembers what it was asked to do, and fails if told to. Its clock
// stands still.
type recorder struct {
	asked []string
	ran   []string
	err   error
}

func (r *recorder) Now() time.Time { return noon.Add(25 * time.Minute) }

func (r *recorder) NextHour(context.Context) (time.Time, []string, error) {
	r.asked = append(r.asked, "next hour")
	return noon, r.ran, r.err
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

func (r *recorder) RunJob(_ context.Context, namespace, name string) (product.Usage, error) {
	r.asked = append(r.asked, fmt.Sprintf("job %s/%s", namespace, name))
	return product.Usage{}, r.err
}

func TestControl(t *testing.T) {
	at := time.Date(2031, 3, 3, 9, 0, 0, 0, time.UTC)
	move := func(to string) func(context.Context, string) (string, error) {
		return func(ctx context.Context, server string) (string, error) { return MoveTime(ctx, server, to) }
	}
	run := func(name string, hour time.Time) func(context.Context, string) (string, error) {
		return func(ctx context.Context, server string) (string, error) {
			return "", RunCostJob(ctx, server, "system", name, hour)
		}
	}
	cases := map[string]struct {
		reason string
		ask    func(ctx context.Context, server string) (string, error)
		ran    []string
		err    error
		want   []string
		told   string
	}{
		"Time": {
			reason: "Business time is set, and what it is then is told.",
			ask:    move("2031-03-03T09:00:00Z"),
			want:   []string{"time 2031-03-03T09:00:00Z"},
			told:   "2031-03-03T12:25:00Z",
		},
		"TimeBy": {
			reason: "A duration counts from business time, not from the machine's.",
			ask:    move("+90m"),
			want:   []string{"time 2031-03-03T13:55:00Z"},
			told:   "2031-03-03T12:25:00Z",
		},
		"Controller": {
			reason: "The controller runs with other settings, in their order.",
			ask: func(ctx context.Context, server string) (string, error) {
				return "", Configure(ctx, server, []string{"MTO_ENABLED=true", "--pricebook-namespaces=a,b"})
			},
			want: []string{`controller ["MTO_ENABLED=true" "--pricebook-namespaces=a,b"]`},
		},
		"CostJob": {
			reason: "A CostJob runs for an hour.",
			ask:    run("charges & more", at),
			want:   []string{"costjob system/charges & more 2031-03-03T09:00:00Z"},
		},
		"CostJobNow": {
			reason: "Without an hour it runs for the one in progress.",
			ask:    run("charges", time.Time{}),
			want:   []string{"costjob system/charges 2031-03-03T12:00:00Z"},
		},
		"Job": {
			reason: "The pod of a Job runs, for whatever it says itself.",
			ask: func(ctx context.Context, server string) (string, error) {
				return "", RunJob(ctx, server, "system", "charges-now")
			},
			want: []string{"job system/charges-now"},
		},
		"NextHour": {
			reason: "An hour passes, and who has run is told.",
			ask:    NextHour,
			ran:    []string{"system/allocations", "system/charges"},
			want:   []string{"next hour"},
			told:   "2031-03-03T12:00:00Z  system/allocations, system/charges: done",
		},
		"NextHourOfNobody": {
			reason: "Where nothing runs, that is told.",
			ask:    NextHour,
			want:   []string{"next hour"},
			told:   "2031-03-03T12:00:00Z  there is no CostJob to run",
		},
		"Failure": {
			reason: "What went wrong is told in full.",
			ask:    run("charges", at),
			err:    errors.New("exit status 1; its log ends with:\n    no database"),
			want:   []string{"costjob system/charges 2031-03-03T09:00:00Z"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &recorder{err: tc.err, ran: tc.ran}
			server, err := Serve(r)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Stop)
			told, err := tc.ask(t.Context(), server.URL)
			if diff := cmp.Diff(fmt.Sprint(tc.err), fmt.Sprint(err)); diff != "" {
				t.Errorf("%s\nerror: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, r.asked); diff != "" {
				t.Errorf("%s\nasked: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.told, told); diff != "" {
				t.Errorf("%s\ntold: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseMove(t *testing.T) {
	for _, text := range []string{"", "today", "90m", "+90", "+", "2031-03-03"} {
		if _, err := ParseMove(text); err == nil {
			t.Errorf("%q is neither an instant nor a duration with a plus, and was accepted", text)
		}
	}
}

// A hanger hangs until it is told that nobody waits any more.
type hanger struct {
	recorder

	began, ended chan struct{}
}

func (h *hanger) MoveTo(ctx context.Context, _ time.Time) error {
	close(h.began)
	<-ctx.Done()
	close(h.ended)
	return ctx.Err()
}

// Whatever a command was doing is over when the server has stopped, so that
// nothing is started behind the back of who takes everything down.
func TestStop(t *testing.T) {
	h := &hanger{began: make(chan struct{}), ended: make(chan struct{})}
	server, err := Serve(h)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := MoveTime(t.Context(), server.URL, "+1h")
		answered <- err
	}()
	<-h.began
	server.Stop()
	select {
	case <-h.ended:
	default:
		t.Error("the server has stopped and a command still runs")
	}
	if err := <-answered; err == nil {
		t.Error("a command that was cut off must fail")
	}
}

func TestOutsideOfAStory(t *testing.T) {
	_, err := MoveTime(t.Context(), "", "+1h")
	if err == nil || !strings.Contains(err.Error(), Variable) {
		t.Errorf("got %v, want an error that names %s", err, Variable)
	}
}
