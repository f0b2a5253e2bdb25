package node

import (
	"context"
	"errors"
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

	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/image"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

func TestMain(m *testing.M) {
	realm.Begin()
	os.Exit(m.Run())
}

// inside runs the test once more in namespaces of its own, and says whether
// this is it. Whoever is not root is told so, and that is all there is to see.
func inside(t *testing.T) bool {
	t.Helper()
	if realm.Inside() {
		return true
	}
	if os.Geteuid() == 0 {
		if _, err := Find(t.Context(), os.Stderr); err != nil {
			t.Fatal(err)
		}
		openTools(t)
	}
	args := []string{"-test.run=^" + t.Name() + "$", fmt.Sprintf("-test.v=%t", testing.Verbose())}
	err := realm.Run(t.Context(), args, os.Stdout, os.Stderr)
	if os.Geteuid() != 0 && errors.Is(err, realm.ErrNotRoot) {
		return false
	}
	if err != nil {
		t.Fatalf("inside: %v", err)
	}
	return false
}

func openTools(t *testing.T) (root string, tools toolbox.Toolbox) {
	t.Helper()
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	tools, err = toolbox.Open(t.Context(), root, os.Stderr, slices.Concat(toolbox.Node, toolbox.ControlPlane)...)
	if err != nil {
		t.Fatal(err)
	}
	return root, tools
}

// Pods run, and when the node has been stopped nothing of it is left, however
// busy it was; so the next one can start where it was.
func TestPods(t *testing.T) {
	if !inside(t) {
		return
	}
	visitor := visitorImage(t)
	before := survey(t)
	for _, round := range []string{"first", "second"} {
		t.Run(round, func(t *testing.T) { runPods(t, visitor) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := process.WaitFor(ctx, "everything to be as it was", func(context.Context) error {
			if diff := cmp.Diff(before, survey(t)); diff != "" {
				return fmt.Errorf("-before, +after:\n%s", diff)
			}
			return nil
		})
		cancel()
		if err != nil {
			t.Error(err)
		}
	}
}

func runPods(t *testing.T, visitor string) {
	t.Helper()
	root, tools := openTools(t)
	if err := OpenNetwork(t.Context()); err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	plane, err := controlplane.StartForNode(t.Context(), tools, logs, controlplane.Host{Address: Address})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Stop()
	n, err := Start(t.Context(), plane, Options{Root: root, Tools: tools, Logs: logs, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	// As a shim of containerd's that was asked to end too early.
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", "sleep infinity >&- 2>&- &").CombinedOutput(); err != nil {
		t.Fatalf("cannot leave a process behind: %v\n%s", err, out)
	}
	if err := n.Import(t.Context(), visitor); err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp", net.JoinHostPort(Address, "0")) // As a database would.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()

	kubectl := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), tools.Path("kubectl"), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "KUBECACHEDIR="+logs)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	kubectl("create", "configmap", "world", "--from-literal=server="+server.Addr().String())
	kubectl("apply", "-f", "testdata/pods.yaml")
	kubectl("wait", "--for=condition=Complete", "job/visitor", "--timeout=240s")
	kubectl("wait", "--for=condition=Ready", "pod/guest", "--timeout=240s")
	for pod, want := range map[string]string{"job/visitor": "all is well\n", "pod/guest": "here to stay\n"} {
		if diff := cmp.Diff(want, kubectl("logs", pod)); diff != "" {
			t.Errorf("log of %s: -want, +got:\n%s", pod, diff)
		}
	}
	warnings := strings.Fields(kubectl("get", "events", "--field-selector=type=Warning", "--output=jsonpath={.items[*].reason}"))
	if warnings = slices.DeleteFunc(warnings, func(reason string) bool { return reason == "CgroupV1" }); len(warnings) > 0 {
		t.Errorf("there are warnings: %s", warnings)
	}
}

// Pods keep speaking to the node while others come and go: the address that they
// know its bridge by stays, whatever is connected to it.
func TestBridgeAddress(t *testing.T) {
	if !inside(t) {
		return
	}
	if err := OpenNetwork(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, lower := range []string{"02:00:00:00:00:02", "02:00:00:00:00:01"} {
		if err := ip(t.Context(), "link add address "+lower+" master "+bridge+" type veth"); err != nil {
			t.Fatal(err)
		}
		link, err := net.InterfaceByName(bridge)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(bridgeAddress, link.HardwareAddr.String()); diff != "" {
			t.Errorf("beside %s: -want, +got:\n%s", lower, diff)
		}
	}
	if err := closeNetwork(t.Context()); err != nil {
		t.Error(err)
	}
}

// visitorImage builds the image of the program in the visitor folder.
func visitorImage(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "visitor")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, "./visitor")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the visitor: %v\n%s", err, out)
	}
	img, err := image.Build(binary)
	if err != nil {
		t.Fatal(err)
	}
	archive := binary + ".tar"
	if err := image.Write(archive, "visitor:test", img); err != nil {
		t.Fatal(err)
	}
	return archive
}

// survey is what could be left: mounts, links, addresses, control groups, files
// and processes.
func survey(t *testing.T) map[string][]string {
	t.Helper()
	seen := map[string][]string{}
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		seen["mounts"] = append(seen["mounts"], strings.Fields(line)[1])
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		addresses, err := link.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		seen["links"] = append(seen["links"], fmt.Sprint(link.Name, addresses))
	}
	for what, pattern := range map[string]string{
		"control groups": "/sys/fs/cgroup/*" + realm.Group() + "/*/cgroup.procs",
		"files":          filepath.Dir(folder) + "/*",
		"networks":       podNetworks + "*",
		"processes":      "/proc/[0-9]*",
	} {
		if seen[what], err = filepath.Glob(pattern); err != nil {
			t.Fatal(err)
		}
	}
	for i, process := range seen["processes"] {
		seen["processes"][i] = process + ": " + describe(process)
	}
	return seen
}

// describe is the command of a process, and its name where there is none, as of
// one that has ended and that nobody has waited for.
func describe(process string) string {
	name, _ := os.ReadFile(filepath.Join(process, "comm"))
	command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
	return strings.TrimSpace(string(name)) + " " + strings.ReplaceAll(string(command), "\x00", " ")
}

// Outside of a realm nothing is touched.
func TestOutside(t *testing.T) {
	if realm.Inside() {
		t.Fatal("this test is for the outside")
	}
	if err := OpenNetwork(t.Context()); err == nil {
		t.Error("the machine's own network was changed")
	}
	if n, err := Start(t.Context(), nil, Options{}); err == nil {
		t.Errorf("got node %v on the machine itself", n)
	}
}

func TestPlugins(t *testing.T) {
	whole, half := t.TempDir(), t.TempDir()
	for _, name := range pluginNames {
		if err := os.WriteFile(filepath.Join(whole, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(half, pluginNames[0]), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		dirs   []string
		want   string
	}{
		"First":   {reason: "The first folder that has all is taken.", dirs: []string{half, whole}, want: whole},
		"Half":    {reason: "One that lacks some is of no use.", dirs: []string{half}},
		"Missing": {reason: "Nor is one that is not there.", dirs: []string{filepath.Join(half, "elsewhere")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, plugins(tc.dirs)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
