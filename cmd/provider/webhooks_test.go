package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

// asItself in its environment makes the test's own program the product's.
const asItself = "FINOPS_TEST_AS_ITSELF"

func TestMain(m *testing.M) {
	if os.Getenv(asItself) != "" {
		main()
	}
	os.Exit(apitest.Main(m))
}

// environmentOf is what every controller needs, and more.
func environmentOf(more map[string]string) func(string) string {
	variables := map[string]string{
		"POSTGRES_CONNECTION_STRING":    "postgres://nobody@127.0.0.1:1/none",
		"OPENCOST_CONNECTION_STRING":    "http://127.0.0.1:1",
		"OPENCOST_DEPLOYMENT_NAME":      "opencost",
		"OPENCOST_DEPLOYMENT_NAMESPACE": "opencost",
	}
	maps.Copy(variables, more)
	return func(name string) string { return variables[name] }
}

func TestWebhookServer(t *testing.T) {
	good := apitest.NewDoor(t).LocalServingCertDir
	broken := t.TempDir()
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(broken, name), []byte("not a certificate"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	cases := map[string]struct {
		reason string
		args   []string
		enable string
		served bool
		err    string
	}{
		"Certificate":   {reason: "A certificate is all it takes.", args: []string{"--webhook-cert-path=" + good}, served: true},
		"NoCertificate": {reason: "Without one nobody could ask, so nothing is served, and the controller runs."},
		"Off":           {reason: "Switched off is off, certificate or not.", args: []string{"--webhook-cert-path=" + good}, enable: "false"},
		"OffUnread":     {reason: "What is off needs no files.", args: []string{"--webhook-cert-path=" + broken}, enable: "false"},
		"OnlyFalse":     {reason: "Exactly false switches them off.", args: []string{"--webhook-cert-path=" + good}, enable: "False", served: true},
		"Missing":       {reason: "A folder that is named has to hold them.", args: []string{"--webhook-cert-path=" + t.TempDir()}, err: "tls.crt: no such file or directory"},
		"OtherName":     {reason: "The names of the files are settings.", args: []string{"--webhook-cert-path=" + good, "--webhook-cert-key=other.key"}, err: "other.key: no such file or directory"},
		"Broken":        {reason: "A pair that cannot be read is named at once, not at the first request.", args: []string{"--webhook-cert-path=" + broken}, err: "failed to find any PEM data"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := parse(tc.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			env, err := readEnvironment(environmentOf(map[string]string{"ENABLE_WEBHOOKS": tc.enable}))
			if err != nil {
				t.Fatal(err)
			}
			server, err := newWebhookServer(logr.Discard(), f, env)
			if diff := cmp.Diff(tc.served, server != nil); diff != "" {
				t.Errorf("%s\nserved: -want +got:\n%s", tc.reason, diff)
			}
			var setting *settingError
			switch {
			case tc.err == "" && err != nil:
				t.Errorf("%s\ngot error %v", tc.reason, err)
			case tc.err != "" && (!errors.As(err, &setting) || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("%s\ngot error %v, want a wrong setting: %q", tc.reason, err, tc.err)
			}
		})
	}
}

func TestWebhookAddress(t *testing.T) {
	for address, ok := range map[string]bool{":9443": true, "127.0.0.1:1": true, "[::1]:65535": true, "9443": false, ":0": false, ":https": false, ":65536": false, "": false} {
		_, err := parse([]string{"--webhook-bind-address=" + address}, io.Discard)
		if diff := cmp.Diff(ok, err == nil); diff != "" {
			t.Errorf("--webhook-bind-address=%s accepted: -want +got:\n%s%v", address, diff, err)
		}
	}
}

// TestControllerServesWebhooks runs the whole controller, without a database:
// it is ready when the webhooks can answer, they answer, and it ends when told.
func TestControllerServesWebhooks(t *testing.T) {
	t.Setenv("KUBECONFIG", apitest.Kubeconfig(t, "controller"))
	probes, webhooks := apitest.NewDoor(t).Address(), apitest.NewDoor(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- run(ctx, []string{
			"--skipDBConnection", "--health-probe-bind-address=" + probes,
			"--webhook-bind-address=" + webhooks.Address(), "--webhook-cert-path=" + webhooks.LocalServingCertDir,
		}, environmentOf(nil), io.Discard, &stderr)
	}()
	defer func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
	}()

	apitest.Eventually(t, "a controller that is ready", func(context.Context) error {
		text, err := ask(http.DefaultClient, http.MethodGet, "http://"+probes+"/readyz?verbose", "")
		for _, check := range []string{"[+]webhooks ok", "[+]webhook-caches ok"} {
			if err == nil && !strings.Contains(text, check) {
				err = fmt.Errorf("it is ready without %s: %s", check, text)
			}
		}
		return err
	})

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	got, err := ask(client, http.MethodPost, "https://"+webhooks.Address()+webhook.SubscriptionPath, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{
		"uid":"u","operation":"CREATE","namespace":"ns","name":"s","resource":{"group":"finops.stakater.com","version":"v1alpha1","resource":"subscriptions"},
		"object":{"metadata":{"namespace":"ns","name":"s"},"spec":{"parent":{"subscriptionRef":{"namespace":"ns","name":"s"}}}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"allowed":false,"status":{"metadata":{},"status":"Failure","message":"CircularDependencyDetected: subscription ns/s names itself as its parent"`
	if !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func ask(c *http.Client, method, url, body string) (string, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Do(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if response.StatusCode != http.StatusOK {
		return "", errors.Join(fmt.Errorf("%s: %s", response.Status, text), err)
	}
	return string(text), err
}
