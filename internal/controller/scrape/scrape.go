// Package scrape lets those read the metrics who may: a request has to carry a
// bearer token that the API server knows (TokenReview) and whose owner may do
// what it asks for (SubjectAccessReview on the URL).
//
// The filter that comes with controller-runtime asks the same two questions, but
// links the library of an API server for it. The collectors are the same program
// and have 64 MiB; that library's text is an eighth of them.
package scrape

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// reviewTimeout is how long the API server may take for its two answers.
const reviewTimeout = 10 * time.Second

// A door stands in front of the metrics.
type door struct {
	tokens authentication.TokenReviewInterface
	rights authorization.SubjectAccessReviewInterface
	log    logr.Logger
	clock  clock.PassiveClock
	recent recent
	behind http.Handler
}

// Filter is what the metrics server asks for each request. The clock is that of
// the machine: it says how long an answer of the API server is good for.
func Filter(c clock.PassiveClock) func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
	return func(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
		tokens, err := authentication.NewForConfigAndClient(config, httpClient)
		if err != nil {
			return nil, fmt.Errorf("cannot set up the client of token reviews: %w", err)
		}
		rights, err := authorization.NewForConfigAndClient(config, httpClient)
		if err != nil {
			return nil, fmt.Errorf("cannot set up the client of access reviews: %w", err)
		}
		return func(log logr.Logger, behind http.Handler) (http.Handler, error) {
			return &door{tokens: tokens.TokenReviews(), rights: rights.SubjectAccessReviews(), log: log, clock: c, behind: behind}, nil
		}, nil
	}
}

// ServeHTTP answers 401 to a token that nobody knows, 403 to somebody who may
// not, and 500 if the API server does not say.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, carried := bearer(r.Header)
	if !carried {
		refuse(w, http.StatusUnauthorized)
		return
	}
	asked := question{token: token, verb: strings.ToLower(r.Method), path: r.URL.Path}
	status, err := d.ask(r.Context(), asked)
	if err != nil {
		d.log.Error(err, "cannot tell who may read the metrics")
		refuse(w, http.StatusInternalServerError)
		return
	}
	if status != http.StatusOK {
		refuse(w, status)
		return
	}
	r.Header.Del("Authorization") // What lies behind has no use for it.
	d.behind.ServeHTTP(w, r)
}

// A question is what somebody wants.
type question struct{ token, verb, path string }

// ask answers from memory, as long as that is fresh, or from the API server. An
// error is never remembered.
func (d *door) ask(ctx context.Context, q question) (int, error) {
	now := d.clock.Now()
	if status, known := d.recent.recall(q, now); known {
		return status, nil
	}
	status, err := d.review(ctx, q)
	if err != nil {
		return 0, err
	}
	fresh := refusedFor
	if status == http.StatusOK {
		fresh = admittedFor
	}
	d.recent.remember(q, status, now.Add(fresh), now)
	return status, nil
}

func (d *door) review(ctx context.Context, q question) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	token, err := d.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: q.token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("cannot review a token: %w", err)
	}
	if !token.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}

	user := token.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	access, err := d.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: q.path, Verb: q.verb},
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("cannot review the access of %q to %q: %w", user.Username, q.path, err)
	}
	if !access.Status.Allowed || access.Status.Denied {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// bearer is the token of a request.
func bearer(h http.Header) (string, bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(h.Get("Authorization")), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

func refuse(w http.ResponseWriter, status int) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	http.Error(w, http.StatusText(status), status)
}
