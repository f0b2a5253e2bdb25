package product

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedirect(t *testing.T) {
	const shipped = `{"kind": "ValidatingWebhookConfiguration", "webhooks": [
		{"name": "offering", "failurePolicy": "Fail", "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/validate-offering", "port": 443}}}]}`
	const want = `{"kind": "ValidatingWebhookConfiguration", "webhooks": [
		{"name": "offering", "failurePolicy": "Fail", "clientConfig": {"url": "https://127.0.0.1:20001/validate-offering", "caBundle": "Q0E="}}]}`
	cases := map[string]struct {
		reason  string
		shipped string
		want    string
	}{
		"Shipped":    {reason: "Only the way to the controller differs from what is shipped.", shipped: shipped, want: want},
		"None":       {reason: "A configuration that asks nobody is not the one that is shipped.", shipped: `{"webhooks": []}`},
		"NoService":  {reason: "Nor is one that asks somebody else.", shipped: `{"webhooks": [{"name": "x", "clientConfig": {"url": "https://elsewhere"}}]}`},
		"NoWebhooks": {reason: "Nor is something that is no configuration.", shipped: `{"kind": "List"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var configuration map[string]any
			if err := json.Unmarshal([]byte(tc.shipped), &configuration); err != nil {
				t.Fatal(err)
			}
			err := (&Webhooks{Port: 20001, CA: []byte("CA")}).redirect(configuration)
			if diff := cmp.Diff(tc.want == "", err != nil); diff != "" {
				t.Fatalf("%s\nrefused: -want, +got:\n%s%v", tc.reason, diff, err)
			}
			if tc.want == "" {
				return
			}
			if diff := cmp.Diff(normal(t, tc.want), normal(t, configuration)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// normal is a JSON document, given as text or as a value, in one form.
func normal(t *testing.T, document any) string {
	t.Helper()
	if text, ok := document.(string); ok {
		document = json.RawMessage(text)
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	if text, err = json.MarshalIndent(value, "", "  "); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Without webhooks the controller is told so; it does not have to be told where.
func TestNoWebhooks(t *testing.T) {
	var none *Webhooks
	if diff := cmp.Diff("ENABLE_WEBHOOKS=false", none.variable()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(0, len(none.arguments())); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if err := none.ready(t.Context()); err != nil {
		t.Errorf("nobody waits for webhooks that are not there, got %v", err)
	}
}
