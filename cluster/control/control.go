// Package control lets the steps of a story reach the harness that runs it: to
// move business time, to run a CostJob for an hour, and to run the controller with
// other flags and variables. The server listens on
// loopback and lives as long as the story.
package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/provider-finops/provider-finops/cluster/product"
)

// Variable names the server's URL to the steps.
const Variable = "FINOPS_TEST_CONTROL"

// timeout of one request: a run or a restart, on a busy machine.
const timeout = 5 * time.Minute

// A Product is what the steps of a story act upon.
type Product interface {
	MoveTo(ctx context.Context, at time.Time) error
	Configure(ctx context.Context, settings []string) error
	RunCostJob(ctx context.Context, namespace, name string, hour time.Time) (product.Usage, error)
}

// A Server obeys the steps of one story.
type Server struct {
	URL string

	server *http.Server
}

// Serve starts a server for the product.
func Serve(p Product) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen for the story's steps: %w", err)
	}
	s := &Server{
		URL:    "http://" + listener.Addr().String(),
		server: &http.Server{Handler: newHandler(p), ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = s.server.Serve(listener) }() // It ends when it is stopped; a step would notice before.
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() { _ = s.server.Close() } // There is nothing left to answer.

// newHandler does one thing at a time: a clock that moves under a running
// collector would be nobody's time.
func newHandler(p Product) http.Handler {
	var one sync.Mutex
	handle := func(do func(*http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			one.Lock()
			defer one.Unlock()
			if err := do(r); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST /time", handle(func(r *http.Request) error {
		at, err := time.Parse(time.RFC3339, r.FormValue("at"))
		if err != nil {
			return fmt.Errorf("cannot move time: %w", err)
		}
		return p.MoveTo(r.Context(), at)
	}))
	mux.Handle("POST /controller", handle(func(r *http.Request) error {
		if err := r.ParseForm(); err != nil {
			return fmt.Errorf("cannot configure the controller: %w", err)
		}
		return p.Configure(r.Context(), r.Form["setting"])
	}))
	mux.Handle("POST /costjob", handle(func(r *http.Request) error {
		hour, err := time.Parse(time.RFC3339, r.FormValue("hour"))
		if err != nil {
			return fmt.Errorf("cannot run a CostJob: %w", err)
		}
		_, err = p.RunCostJob(r.Context(), r.FormValue("namespace"), r.FormValue("name"), hour)
		return err
	}))
	return mux
}

// MoveTime asks the server to set business time; the controller is restarted.
func MoveTime(ctx context.Context, server string, at time.Time) error {
	return ask(ctx, server, "/time", url.Values{"at": {at.Format(time.RFC3339)}})
}

// Configure asks the server to restart the controller with these flags and
// variables beside those that it always has.
func Configure(ctx context.Context, server string, settings []string) error {
	return ask(ctx, server, "/controller", url.Values{"setting": settings})
}

// RunCostJob asks the server to run a CostJob as if it were due at the hour.
func RunCostJob(ctx context.Context, server, namespace, name string, hour time.Time) error {
	return ask(ctx, server, "/costjob", url.Values{"namespace": {namespace}, "name": {name}, "hour": {hour.Format(time.RFC3339)}})
}

func ask(ctx context.Context, server, path string, form url.Values) error {
	if server == "" {
		return fmt.Errorf("cannot reach the story's harness: %s is not set; only steps of a story that \"harness e2e\" runs can call it", Variable)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server+path, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("cannot ask the story's harness: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("cannot ask the story's harness: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(string(text)))
	}
	return err
}
