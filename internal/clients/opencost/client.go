// Package opencost reads measured allocations from OpenCost.
//
// OpenCost has no paging, answers errors with status 200 now and then, and cuts
// bodies off; nothing in its protocol tells a whole answer from half of one but
// the document itself. So an answer is read item by item in bounded memory and
// counts only once it has ended well: whoever stores the items must be able to
// take them back until then. What cannot be trusted is refused as a whole, with
// an error that says what was wrong.
//
// The package reports what was measured. Which numbers are plausible, and what
// is stored for them, is decided elsewhere.
package opencost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// path is the documented endpoint. Every released version serves it.
	path = "/allocation/compute"

	// unallocated is what OpenCost calls the namespace of what has none.
	unallocated = "__unallocated__"

	// DefaultMaxBytes is how large an answer may be. An item takes some 1.7 kB,
	// so this is an hour of about 150,000 containers.
	DefaultMaxBytes = 256 << 20

	// readAhead is how much of an answer is asked of the network at once.
	readAhead = 64 << 10

	// DefaultTimeout bounds one request, its answer included.
	DefaultTimeout = 90 * time.Second
)

// Options of a Client. The zero value of each field is its default.
type Options struct {
	Timeout   time.Duration     // Of one request, the whole answer included.
	MaxBytes  int64             // Of one answer, uncompressed.
	Transport http.RoundTripper // How requests travel.
}

// A Client reads from one OpenCost.
type Client struct {
	base     *url.URL
	http     *http.Client
	maxBytes int64
}

// New returns a Client of the OpenCost at a base URL: scheme, host, and the path
// prefix of a proxy if there is one. Neither this error nor any other repeats
// what the URL says before its host, which may be a password.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(base, "/"))
	switch {
	case err != nil:
		return nil, errors.New("cannot use the URL of OpenCost: it does not parse")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("cannot use the URL of OpenCost: scheme %q is neither http nor https", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("cannot use the URL of OpenCost: it names no host")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("cannot use the URL of OpenCost at %q: it has a query or a fragment", u.Host)
	}

	c := &Client{
		base:     u,
		maxBytes: DefaultMaxBytes,
		http: &http.Client{
			Timeout:   DefaultTimeout,
			Transport: o.Transport,
			// A base URL that redirects is a wrong one; a password in it must
			// not travel to wherever it leads.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if o.Timeout > 0 {
		c.http.Timeout = o.Timeout
	}
	if o.MaxBytes > 0 {
		c.maxBytes = o.MaxBytes
	}
	return c, nil
}

// A Query asks for the allocations of one window, as one set.
type Query struct {
	Start, End time.Time // [Start, End), whole seconds.
	Aggregate  string    // The dimensions of an item, such as "namespace,pod,container".
	Step       string    // The width of a set; as wide as the window.
	Resolution string    // What starts and ends of items are rounded to.

	// Namespaces are those whose items are wanted, none of them empty; nil means
	// all. Servers before 2025 do not know the filter and answer with everything,
	// so it is applied here too: the items are the same, whoever leaves the others
	// out.
	Namespaces []string

	// Foreign, if it is not nil, is told the namespace of each item that came
	// without having been asked for.
	Foreign func(namespace string)
}

// filter is the query's namespaces in the server's language.
func (q Query) filter() (string, error) {
	quoted := make([]string, 0, len(q.Namespaces))
	for _, n := range q.Namespaces {
		if n == "" || strings.ContainsAny(n, "\"\\") {
			return "", fmt.Errorf("namespace %q cannot be asked for", n)
		}
		quoted = append(quoted, `"`+n+`"`)
	}
	return "namespace:" + strings.Join(quoted, ","), nil
}

// window is written the one way that every version reads alike: RFC 3339 in UTC
// with a capital Z and no fraction. Anything else may be misread in silence.
func (q Query) window() string {
	return q.Start.UTC().Format(time.RFC3339) + "," + q.End.UTC().Format(time.RFC3339)
}

// Allocations streams what was measured in the window of a query. An error ends
// the sequence, and takes back every item that came before it: only a sequence
// that ends without one was a whole answer. A sequence without any item is what
// OpenCost says of an hour without workloads and of one it knows nothing about.
//
// Idle cost and accumulation are never asked for: they lose data.
func (c *Client) Allocations(ctx context.Context, q Query) iter.Seq2[Allocation, error] {
	return func(yield func(Allocation, error) bool) {
		if err := c.stream(ctx, q, func(a Allocation) bool { return yield(a, nil) }); err != nil {
			yield(Allocation{}, fmt.Errorf("cannot read the allocations of window %q from OpenCost at %q: %w", q.window(), c.base.Host, err))
		}
	}
}

func (c *Client) stream(ctx context.Context, q Query, each func(Allocation) bool) error {
	response, err := c.get(ctx, q)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // Nothing that was read depends on it.

	b := &body{from: bufio.NewReaderSize(response.Body, readAhead), limit: c.maxBytes}
	if response.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, b, snippetBytes) // For the snippet alone.
		return &AnswerError{Kind: ErrStatus, Detail: response.Status, Snippet: b.snippet()}
	}

	if err := decode(b, q, each); err != nil {
		err.Snippet = b.snippet()
		return err
	}
	return nil
}

func (c *Client) get(ctx context.Context, q Query) (*http.Response, error) {
	u := c.base.JoinPath(path)
	parameters := url.Values{
		"window":     {q.window()},
		"aggregate":  {q.Aggregate},
		"step":       {q.Step},
		"resolution": {q.Resolution},
	}
	if q.Namespaces != nil {
		filter, err := q.filter()
		if err != nil {
			return nil, err
		}
		parameters.Set("filter", filter)
	}
	u.RawQuery = parameters.Encode()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, errors.New("the request cannot be built")
	}
	request.Header.Set("Accept", "application/json")

	response, err := c.http.Do(request)
	if err != nil {
		// The URL that the error would repeat says who we are to OpenCost.
		if failed := (*url.Error)(nil); errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return response, nil
}
