package rights

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const auditLog = `{"verb":"list","user":{"username":"system:serviceaccount:s:controller"},"requestURI":"/apis/g/v1/things","objectRef":{"resource":"things","apiGroup":"g"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"verb":"update","user":{"username":"system:serviceaccount:s:controller"},"requestURI":"/apis/g/v1/namespaces/n/things/x/status","objectRef":{"resource":"things","subresource":"status","apiGroup":"g","namespace":"n","name":"x"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"verb":"watch","user":{"username":"system:serviceaccount:s:controller"},"requestURI":"/apis/g/v1/seen","objectRef":{"resource":"seen","apiGroup":"g"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"verb":"get","user":{"username":"system:serviceaccount:s:controller"},"requestURI":"/api","annotations":{"authorization.k8s.io/decision":"allow"}}
{"verb":"delete","user":{"username":"somebody"},"requestURI":"/apis/g/v1/things","objectRef":{"resource":"things","apiGroup":"g"}}
{"verb":"get","user":{"username":"system:serviceaccount:s:runner"},"requestURI":"/api/v1/namespaces/n/secrets/x","objectRef":{"resource":"secrets","namespace":"n","name":"x"},"annotations":{"authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":""}}
{"verb":"create","user":{"username":"system:serviceaccount:s:controller"},"requestURI":"/api/v1/namespaces/n/events","objectRef":{"resource":"events","namespace":"n"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"allow"}}
`

const roles = `{"items": [
	{"kind": "ClusterRole", "metadata": {"name": "manager"}, "rules": [
		{"apiGroups": ["g"], "resources": ["things", "things/status"], "verbs": ["list", "update"]},
		{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
		{"apiGroups": ["g"], "resources": ["seen"], "verbs": ["list", "watch"]},
		{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]},
	{"kind": "ClusterRole", "metadata": {"name": "nobody's"}, "rules": [{"apiGroups": ["g"], "resources": ["others"], "verbs": ["get"]}]},
	{"kind": "ClusterRoleBinding", "metadata": {"name": "binding"}, "roleRef": {"name": "manager"}, "subjects": [
		{"kind": "ServiceAccount", "namespace": "s", "name": "runner"}, {"kind": "ServiceAccount", "namespace": "s", "name": "controller"}]},
	{"kind": "ClusterRoleBinding", "metadata": {"name": "people"}, "roleRef": {"name": "nobody's"}, "subjects": [{"kind": "User", "name": "me"}]}]}`

// TestRights reads an API server's words. A refusal for another reason than
// rights (a namespace that ends takes no more events) is none.
func TestRights(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(auditLog), 0o600); err != nil {
		t.Fatal(err)
	}
	record, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"s:runner may not get /api/v1/namespaces/n/secrets/x"}, record.Refused); diff != "" {
		t.Errorf("refused: -want, +got:\n%s", diff)
	}
	want := map[Right]bool{
		{"s:controller", "list", "g", "things"}: true, {"s:controller", "watch", "g", "seen"}: true, {"s:controller", "update", "g", "things/status"}: true, {"s:controller", "create", "", "events"}: true,
	}
	if diff := cmp.Diff(want, record.Used); diff != "" {
		t.Errorf("used: -want, +got:\n%s", diff)
	}

	granted, err := Grants([]byte(roles))
	if err != nil {
		t.Fatal(err)
	}
	got := granted.Unused(record, func(name string) bool { return strings.HasPrefix(name, "manager") })
	if diff := cmp.Diff([]string{"manager: list things/status.g", "manager: update things.g"}, got); diff != "" {
		t.Errorf("unused: -want, +got:\n%s", diff)
	}
}

// TestNoLog shows that no log is not the same as nothing refused.
func TestNoLog(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "audit.log")); err == nil {
		t.Error("want an error")
	}
}
