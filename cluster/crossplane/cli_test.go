package crossplane

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// coreImage is the image that the command line takes Crossplane's own definitions
// from. It finds them in its cache, so it does not ask for it.
const coreImage = "xpkg.crossplane.io/crossplane/crossplane:v2"

// A commandLine is Crossplane's, with the project's package in a registry of its
// own, pushed by it.
type commandLine struct {
	path, cache string
	extensions  string // Folder with what the examples are to be validated against.
}

// newCommandLine pushes the package, and looks whether it is in the registry as we
// have built it.
func newCommandLine(t *testing.T, root string) commandLine {
	t.Helper()
	cli, err := toolbox.CrossplaneCLI(t.Context(), root, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	core, err := toolbox.Crossplane(t.Context(), root, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	images := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(images.Close)
	reference := strings.TrimPrefix(images.URL, "http://") + "/provider-finops/provider-finops:v0.1.0"
	file := filepath.Join(t.TempDir(), "provider-finops.xpkg")
	if _, err := BuildProvider(t.Context(), root, "", file, t.Output()); err != nil {
		t.Fatal(err)
	}
	c := commandLine{path: cli.Path("crossplane"), cache: t.TempDir(), extensions: t.TempDir()}
	if said, err := c.run(t.Context(), "xpkg", "push", "--package-files="+file, reference); err != nil {
		t.Fatalf("Crossplane's command line does not push the package: %v: %s", err, said)
	}
	if pushed := manifest(t, images.URL+"/v2/provider-finops/provider-finops/manifests/v0.1.0"); !strings.Contains(pushed, `"io.crossplane.xpkg":"base"`) {
		t.Errorf("the registry does not know which layer is the package's:\n%s", pushed)
	}

	provider := "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: provider-finops}\nspec: {package: '" + reference + "'}\n"
	if err := os.WriteFile(filepath.Join(c.extensions, "provider.yaml"), []byte(provider), 0o600); err != nil {
		t.Fatal(err)
	}
	definition, err := os.ReadFile(filepath.Join(root, "examples", "tenant", "definition.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.extensions, "definition.yaml"), definition, 0o600); err != nil {
		t.Fatal(err)
	}
	c.remember(t, core.Path(toolbox.CrossplaneCRDs))
	return c
}

// remember puts Crossplane's own definitions where the command line keeps those of
// an image.
func (c commandLine) remember(t *testing.T, definitions string) {
	t.Helper()
	dir := filepath.Join(c.cache, strings.ReplaceAll(coreImage, ":", "@"))
	if err := os.CopyFS(dir, os.DirFS(definitions)); err != nil {
		t.Fatal(err)
	}
}

func (c commandLine) run(ctx context.Context, args ...string) (string, error) {
	out, err := process.Command(ctx, c.path, args...).CombinedOutput()
	return string(out), err
}

// validate returns what the command line says of manifests.
func (c commandLine) validate(ctx context.Context, resources string) (string, error) {
	return c.run(ctx, "resource", "validate", c.extensions, resources, "--cache-dir="+c.cache, "--crossplane-image="+coreImage)
}

func manifest(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s, %v", url, response.Status, text, err)
	}
	return string(text)
}

// composed is what the command line has rendered of a Tenant, without the Tenant: of
// that it shows the status only.
func composed(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "cluster", "tenant", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	_, subscriptions, _ := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	return subscriptions
}

// TestCommandLine pushes the package by Crossplane's command line, and has it
// validate every example against what it has pushed, and what a Tenant becomes.
func TestCommandLine(t *testing.T) {
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	c := newCommandLine(t, root)

	subscription := func(spec string) string {
		return "apiVersion: finops.stakater.com/v1alpha1\nkind: Subscription\nmetadata: {namespace: shop, name: x}\nspec: " + spec + "\n"
	}
	tenant := func(spec string) string {
		return "apiVersion: platform.example.org/v1\nkind: Tenant\nmetadata: {namespace: shop, name: x}\nspec: " + spec + "\n"
	}
	const valid = "0 failure cases"
	cases := map[string]struct {
		reason    string
		resources string // A folder, or manifests.
		want      string // What it says.
		fails     bool
	}{
		"Quickstart": {reason: "The examples are valid.", resources: filepath.Join(root, "examples", "quickstart"), want: valid},
		"Collectors": {reason: "Those too.", resources: filepath.Join(root, "examples", "collectors"), want: valid},
		"Tenant": {
			reason: "A Tenant is, as its definition says, and its Composition, but for what its functions' own packages would say of their input.", resources: filepath.Join(root, "examples", "tenant"),
			want: "2 missing schemas, 10 success cases, 0 failure cases",
		},
		"Installation": {reason: "What is installed beside the package is.", resources: filepath.Join(root, "examples", "crossplane"), want: valid},
		"Rendered":     {reason: "So is what a Tenant becomes.", resources: composed(t, root, "audited.yaml"), want: valid},
		"NoPlan":       {reason: "Without a plan there is nothing to bill.", resources: tenant("{team: web}"), want: "spec.plan", fails: true},
		"OtherPlan":    {reason: "A plan is one of those that are sold.", resources: tenant("{team: web, plan: gold}"), want: "Unsupported value", fails: true},
		"OtherAddOn":   {reason: "So is an add-on.", resources: tenant("{team: web, plan: standard, addOns: {sauna: true}}"), want: "unknown field", fails: true},
		"NoOffering":   {reason: "A Subscription is one to something.", resources: subscription("{}"), want: "spec.offeringRef", fails: true},
		"Unknown":      {reason: "A field that is misspelt is not overlooked.", resources: subscription("{offeringRef: {name: a, namespace: b}, usageSource: []}"), want: "unknown field", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resources := tc.resources
			if !filepath.IsAbs(resources) {
				resources = filepath.Join(t.TempDir(), "resources.yaml")
				if err := os.WriteFile(resources, []byte(tc.resources), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			said, err := c.validate(t.Context(), resources)
			if (err != nil) != tc.fails || !strings.Contains(said, tc.want) || (tc.want == valid && !strings.Contains(said, "0 missing schemas")) {
				t.Errorf("%s\ngot %v, and\n%s", tc.reason, err, said)
			}
		})
	}
}
