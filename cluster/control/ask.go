package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// timeout of one request: a few runs or a restart, on a busy machine.
const timeout = 10 * time.Minute

// MoveTime asks the server to set business time, see ParseMove, and returns
// what it is then; the controller is restarted.
func MoveTime(ctx context.Context, server, to string) (string, error) {
	return ask(ctx, server, "/time", url.Values{"to": {to}})
}

// Configure asks the server to restart the controller with these flags and
// variables beside those that it always has, or in their place.
func Configure(ctx context.Context, server string, settings []string) error {
	_, err := ask(ctx, server, "/controller", url.Values{"setting": settings})
	return err
}

// RunCostJob asks the server to run a CostJob as if it were due at the hour; a
// zero hour is the one in progress.
func RunCostJob(ctx context.Context, server, namespace, name string, hour time.Time) error {
	form := url.Values{"namespace": {namespace}, "name": {name}}
	if !hour.IsZero() {
		form.Set("hour", hour.Format(time.RFC3339))
	}
	_, err := ask(ctx, server, "/costjob", form)
	return err
}

// RunJob asks the server to do a node's part for a Job's pod.
func RunJob(ctx context.Context, server, namespace, name string) error {
	_, err := ask(ctx, server, "/job", url.Values{"namespace": {namespace}, "name": {name}})
	return err
}

// NextHour asks the server to move business time to the next full hour and to
// run every CostJob for it, and returns a line that says so.
func NextHour(ctx context.Context, server string) (string, error) {
	return ask(ctx, server, "/next-hour", url.Values{})
}

// SwitchFunction asks the server to start the process of a composition function
// anew, or to end it.
func SwitchFunction(ctx context.Context, server, name, state string) error {
	_, err := ask(ctx, server, "/function", url.Values{"name": {name}, "state": {state}})
	return err
}

func ask(ctx context.Context, server, path string, form url.Values) (string, error) {
	if server == "" {
		return "", fmt.Errorf("cannot reach the harness: %s is not set; the steps of a story have it, and \"make demo KEEP=1\" prints it", Variable)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server+path, strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("cannot ask the harness: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("cannot ask the harness, does it still run? %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return "", errors.New(strings.TrimSpace(string(text)))
	}
	return string(text), err
}
