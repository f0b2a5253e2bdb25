// Package control lets the steps of a story, or whoever looks around in a demo
// that was kept, reach the harness that runs it: to move business time, to run
// CostJobs for an hour, and to run the controller with other flags and variables.
// The server listens on loopback and lives as long as what it controls.
package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/provider-finops/provider-finops/cluster/product"
)

// What a composition function is switched to.
const (
	FunctionUp   = "up"
	FunctionDown = "down"
)

// Variable names the server's URL to the commands.
const Variable = "FINOPS_TEST_CONTROL"

// A Product is what the commands act upon.
type Product interface {
	Now() time.Time
	MoveTo(ctx context.Context, at time.Time) error
	Configure(ctx context.Context, settings []string) error
	RunCostJob(ctx context.Context, namespace, name string, hour time.Time) (product.Usage, error)
	NextHour(ctx context.Context) (time.Time, []string, error)
}

// Functions are what the commands act upon beside it, where Crossplane composes.
type Functions interface {
	Switch(name string, on bool) error
}

// Pods are what the commands act upon beside it, where no node runs them.
type Pods interface {
	RunJob(ctx context.Context, namespace, name string) (product.Usage, error)
}

// A Server obeys the commands. It does one thing at a time: a clock that moves
// under a running collector would be nobody's time.
type Server struct {
	URL string

	product Product
	server  *http.Server

	one     sync.Mutex
	stopped bool
}

// Serve starts a server for the product.
func Serve(p Product) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen for commands: %w", err)
	}
	s := &Server{URL: "http://" + listener.Addr().String(), product: p}
	s.server = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // It ends when it is stopped; a command would notice before.
	return s, nil
}

// Stop ends the server. What a command was doing is cancelled and over when
// Stop returns.
func (s *Server) Stop() {
	_ = s.server.Close() // There is nothing left to answer.
	s.one.Lock()
	defer s.one.Unlock()
	s.stopped = true
}

// An action does what a command asks for and returns what is to be told.
type action func(ctx context.Context, r *http.Request) (string, error)

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, do := range map[string]action{
		"POST /time":       s.moveTime,
		"POST /controller": s.configure,
		"POST /costjob":    s.runCostJob,
		"POST /job":        s.runJob,
		"POST /next-hour":  s.nextHour,
		"POST /function":   s.switchFunction,
	} {
		mux.Handle(pattern, s.handle(do))
	}
	return mux
}

func (s *Server) handle(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.one.Lock()
		defer s.one.Unlock()
		if s.stopped {
			return // Nobody waits for the answer.
		}
		if err := r.ParseForm(); err != nil { // To its end, so that the context ends with the connection.
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text, err := do(r.Context(), r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprint(w, text) // Whoever has gone does not read it.
	}
}

func (s *Server) moveTime(ctx context.Context, r *http.Request) (string, error) {
	to, err := ParseMove(r.FormValue("to"))
	if err != nil {
		return "", err
	}
	if err := s.product.MoveTo(ctx, to(s.product.Now())); err != nil {
		return "", err
	}
	return s.product.Now().Format(time.RFC3339), nil
}

func (s *Server) configure(ctx context.Context, r *http.Request) (string, error) {
	return "", s.product.Configure(ctx, r.Form["setting"])
}

func (s *Server) runCostJob(ctx context.Context, r *http.Request) (string, error) {
	hour := s.product.Now().Truncate(time.Hour)
	if text := r.FormValue("hour"); text != "" {
		var err error
		if hour, err = time.Parse(time.RFC3339, text); err != nil {
			return "", fmt.Errorf("cannot run a CostJob: %w", err)
		}
	}
	_, err := s.product.RunCostJob(ctx, r.FormValue("namespace"), r.FormValue("name"), hour)
	return "", err
}

func (s *Server) runJob(ctx context.Context, r *http.Request) (string, error) {
	pods, ok := s.product.(Pods)
	if !ok {
		return "", errors.New("pods are not run by the harness here")
	}
	_, err := pods.RunJob(ctx, r.FormValue("namespace"), r.FormValue("name"))
	return "", err
}

func (s *Server) nextHour(ctx context.Context, _ *http.Request) (string, error) {
	hour, ran, err := s.product.NextHour(ctx)
	if err != nil {
		return "", err
	}
	who := "there is no CostJob to run"
	if len(ran) > 0 {
		who = strings.Join(ran, ", ") + ": done"
	}
	return hour.Format(time.RFC3339) + "  " + who, nil
}

func (s *Server) switchFunction(_ context.Context, r *http.Request) (string, error) {
	functions, ok := s.product.(Functions)
	if !ok {
		return "", errors.New("there are no composition functions here")
	}
	return "", functions.Switch(r.FormValue("name"), r.FormValue("state") == FunctionUp)
}

// ParseMove reads where time is to be moved: to an instant, or by a duration
// with a plus before it.
func ParseMove(text string) (func(now time.Time) time.Time, error) {
	if by, err := time.ParseDuration(text); err == nil && strings.HasPrefix(text, "+") {
		return func(now time.Time) time.Time { return now.Add(by) }, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, fmt.Errorf("cannot move time to %q: want an instant such as 2031-03-03T09:00:00Z or a duration such as +90m", text)
	}
	return func(time.Time) time.Time { return at }, nil
}
