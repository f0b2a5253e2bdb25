package tenant

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var update = flag.Bool("update", false, "write what is rendered to testdata")

// A renderer runs Crossplane's command line against a function of our own.
type renderer struct {
	root, cli, core, kubectl string
	functions                string // Manifest that says where the function listens.
}

var render renderer

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "render-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	stop, err := render.start(ctx, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	return m.Run()
}

// start builds what is missing and starts the function.
func (r *renderer) start(ctx context.Context, dir string) (stop func(), err error) {
	if r.root, err = toolbox.ProjectRoot("."); err != nil {
		return nil, err
	}
	cli, err := toolbox.CrossplaneCLI(ctx, r.root, os.Stderr)
	if err != nil {
		return nil, err
	}
	core, err := toolbox.Crossplane(ctx, r.root, os.Stderr)
	if err != nil {
		return nil, err
	}
	function, err := toolbox.Function(ctx, r.root, os.Stderr)
	if err != nil {
		return nil, err
	}
	tools, err := toolbox.Open(ctx, r.root, os.Stderr, "kubectl")
	if err != nil {
		return nil, err
	}
	r.cli, r.core, r.kubectl = cli.Path("crossplane"), core.Path("crossplane"), tools.Path("kubectl")
	ports, err := process.FreePorts(1)
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	p, err := process.Start(process.Spec{Name: "function", Path: function.Path("function"), Args: []string{"--insecure", "--address=" + address}, LogDir: dir})
	if err != nil {
		return nil, err
	}
	stop = func() { p.Stop(5 * time.Second) }
	if err := process.WaitFor(ctx, "the function to listen", func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}, p); err != nil {
		stop()
		return nil, err
	}
	r.functions = filepath.Join(dir, "functions.yaml")
	return stop, os.WriteFile(r.functions, []byte(functions(address)), 0o600)
}

// functions are those that the Composition names, all served by ours.
func functions(address string) string {
	var text strings.Builder
	for _, name := range []string{"function-patch-and-transform", "function-cel-filter", "function-auto-ready"} {
		_, _ = fmt.Fprintf(&text, `---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: %s
  annotations:
    render.crossplane.io/runtime: Development
    render.crossplane.io/runtime-development-target: %s
spec:
  package: example.org/%[1]s:v0.0.0
`, name, address)
	}
	return text.String()
}

// file is one of the example's, from the project's root.
func (r *renderer) file(names ...string) string {
	return filepath.Join(append([]string{r.root}, names...)...)
}

// composition is what a Tenant's fields come to.
func (r *renderer) composition() string { return r.file("examples", "tenant", "composition.yaml") }

// withdrawn is the Composition from which the standard plan itself was taken out.
func (r *renderer) withdrawn(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(r.kubectl, "patch", "--local", "-f", r.composition(), "--type=json",
		"-p", `[{"op":"remove","path":"/spec/pipeline/0/input/resources/0"}]`, "-o", "yaml").Output()
	if err != nil {
		t.Fatalf("cannot take the plan out of the Composition: %v", err)
	}
	return write(t, "composition.yaml", string(out))
}

// run renders a Tenant. The answer holds the Tenant's status, then what is
// composed, then what the functions warned of.
func (r *renderer) run(t *testing.T, tenant, composition, observed string) string {
	t.Helper()
	args := []string{
		"composition", "render", write(t, "tenant.yaml", tenant), composition, r.functions,
		"--crossplane-binary=" + r.core, "--xrd=" + r.file("examples", "tenant", "definition.yaml"), "--include-function-results",
	}
	if observed != "" {
		args = append(args, "--observed-resources="+write(t, "observed.yaml", observed))
	}
	cmd := exec.Command(r.cli, args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot render: %v: %s", err, &said)
	}
	return warnings(string(out))
}

// warnings leaves out what goes without saying: in which order it comes is chance.
func warnings(answer string) string {
	documents := slices.DeleteFunc(strings.SplitAfter(answer, "\n---\n"), func(document string) bool {
		return strings.Contains(document, "kind: Result\n") && strings.Contains(document, "severity: Normal\n")
	})
	return strings.TrimSuffix(strings.Join(documents, ""), "---\n")
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// golden compares with a file of testdata.
func golden(t *testing.T, reason, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s\n-want (%s; -update writes it), +got:\n%s", reason, path, diff)
	}
}
