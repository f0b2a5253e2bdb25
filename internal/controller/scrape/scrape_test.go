package scrape_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/controller/scrape"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

// metrics is a server of metrics behind the filter.
func metrics(t *testing.T, config *rest.Config, c clock.PassiveClock) string {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := scrape.Filter(c)(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if carried := r.Header.Get("Authorization"); carried != "" {
			t.Errorf("The token goes no further than the door, got %q", carried)
		}
		w.WriteHeader(http.StatusOK)
	}))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func ask(t *testing.T, method, url, authorization string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	return answer.StatusCode
}

// account makes a ServiceAccount and returns a token of it.
func account(t *testing.T, kube client.Client, namespace, name string) string {
	t.Helper()
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := kube.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := kube.SubResource("token").Create(t.Context(), a, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// TestWhoMayRead asks a real API server about real tokens.
func TestWhoMayRead(t *testing.T) {
	kube := apitest.Client(t)
	namespace := apitest.Namespace(t, kube)
	scraper, stranger := account(t, kube, namespace, "scraper"), account(t, kube, namespace, "stranger")

	// The role of the reference, finops-operator-metrics-reader.
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-metrics-reader"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "scraper"}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := kube.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := kube.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		})
	}
	url := metrics(t, apitest.Config(t), clock.RealClock{})

	cases := map[string]struct {
		reason        string
		method, path  string
		authorization string
		want          int
	}{
		"Scraper":    {"The role is enough.", http.MethodGet, "/metrics", "Bearer " + scraper, http.StatusOK},
		"LowerCase":  {"The name of a scheme has no case.", http.MethodGet, "/metrics", "bearer " + scraper, http.StatusOK},
		"Writer":     {"It permits reading only.", http.MethodPost, "/metrics", "Bearer " + scraper, http.StatusForbidden},
		"OtherURL":   {"And no other URL.", http.MethodGet, "/debug", "Bearer " + scraper, http.StatusForbidden},
		"Stranger":   {"Being known is not enough.", http.MethodGet, "/metrics", "Bearer " + stranger, http.StatusForbidden},
		"Forged":     {"A token nobody has issued.", http.MethodGet, "/metrics", "Bearer " + scraper + "x", http.StatusUnauthorized},
		"NoToken":    {"Nobody is not asked about.", http.MethodGet, "/metrics", "", http.StatusUnauthorized},
		"EmptyToken": {"Nor is a scheme alone.", http.MethodGet, "/metrics", "Bearer ", http.StatusUnauthorized},
		"Password":   {"Only tokens are looked at.", http.MethodGet, "/metrics", "Basic " + scraper, http.StatusUnauthorized},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, turn := range []string{"first", "second"} { // From the server, then from memory.
				if diff := cmp.Diff(tc.want, ask(t, tc.method, url+tc.path, tc.authorization)); diff != "" {
					t.Errorf("%s (%s time) -want, +got:\n%s", tc.reason, turn, diff)
				}
			}
		})
	}
}

// An apiServer answers reviews as it is told, and counts them.
type apiServer struct {
	tokens, rights atomic.Int64
	known, allowed atomic.Bool
	broken         atomic.Bool
	spec           atomic.Pointer[authorizationv1.SubjectAccessReviewSpec]
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.broken.Load() {
		http.Error(w, "away", http.StatusInternalServerError)
		return
	}
	var answer runtime.Object
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		a.tokens.Add(1)
		review := authenticationv1.TokenReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}}
		review.Status.Authenticated = a.known.Load()
		review.Status.User = authenticationv1.UserInfo{
			Username: "scraper", UID: "1", Groups: []string{"monitoring"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"prometheus-0"}},
		}
		answer = &review
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		a.rights.Add(1)
		review := authorizationv1.SubjectAccessReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.spec.Store(&review.Spec)
		review.Status.Allowed = a.allowed.Load()
		answer = &review
	}
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text) // A client that has gone needs no answer.
}

// TestMemory counts what the API server is asked. An answer is good for as long
// as it is meant to be, and an error for no time at all.
func TestMemory(t *testing.T) {
	api := &apiServer{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	now := clocktesting.NewFakePassiveClock(time.Date(2026, time.March, 5, 0, 0, 0, 0, time.UTC))
	url := metrics(t, &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, now) + "/metrics"
	pass := func(d time.Duration) { now.SetTime(now.Now().Add(d)) }
	step := func(reason string, want int, tokens, rights int64) {
		t.Helper()
		got := ask(t, http.MethodGet, url, "Bearer abc")
		if got != want || api.tokens.Load() != tokens || api.rights.Load() != rights {
			t.Errorf("%s: want %d after %d and %d reviews, got %d after %d and %d",
				reason, want, tokens, rights, got, api.tokens.Load(), api.rights.Load())
		}
	}

	api.broken.Store(true)
	step("An API server that is away admits nobody", http.StatusInternalServerError, 0, 0)
	api.broken.Store(false)
	step("A token that is not known is not asked about further", http.StatusUnauthorized, 1, 0)
	api.known.Store(true)
	pass(9 * time.Second)
	step("It stays refused for ten seconds", http.StatusUnauthorized, 1, 0)
	pass(time.Second)
	step("And is then asked about again", http.StatusForbidden, 2, 1)
	api.allowed.Store(true)
	pass(10 * time.Second)
	step("A right that was given is found", http.StatusOK, 3, 2)
	api.allowed.Store(false)
	pass(59 * time.Second)
	step("It lasts for a minute", http.StatusOK, 3, 2)
	pass(time.Second)
	step("And no longer", http.StatusForbidden, 4, 3)

	want := &authorizationv1.SubjectAccessReviewSpec{
		User: "scraper", UID: "1", Groups: []string{"monitoring"}, Extra: map[string]authorizationv1.ExtraValue{"pod": {"prometheus-0"}},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	}
	if diff := cmp.Diff(want, api.spec.Load()); diff != "" {
		t.Errorf("The review says all that is known of the caller: -want, +got:\n%s", diff)
	}
}
