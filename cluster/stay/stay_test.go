package stay

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// offered makes a folder as something that runs, or has run, would.
func offered(t *testing.T, root, kind, owner, value string) string {
	t.Helper()
	dir, err := Folder(root, kind, owner)
	if err != nil {
		t.Fatal(err)
	}
	if err := Offer(dir, []string{"VALUE=" + value}, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// nobody is a process that does not run: process 1 has started at another time.
func nobody(t *testing.T) string {
	t.Helper()
	parts := strings.Split(self(t), "-")
	return "1-1-" + parts[2]
}

func self(t *testing.T) string {
	t.Helper()
	owner, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	return owner.String()
}

// A shell reads exactly what was offered.
func TestOffer(t *testing.T) {
	const value = `postgres://a b'c"d$e`
	dir := t.TempDir()
	if err := Offer(dir, []string{"VALUE=" + value, "EMPTY="}, []string{"/a b", "/c"}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `. "$1" && printf '%s\n' "$VALUE" "$EMPTY" "${PATH%%:"$2"}"`,
		"sh", filepath.Join(dir, environment), os.Getenv("PATH")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value+"\n\n/a b:/c\n", string(out)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestAttach(t *testing.T) {
	cases := map[string]struct {
		reason  string
		running []string // Kinds.
		ended   []string
		name    string
		want    string
		refused string
	}{
		"One":       {reason: "Where one runs nobody has to name it.", running: []string{"dev"}, ended: []string{"demo"}, want: "dev"},
		"Named":     {reason: "Of several, a name chooses.", running: []string{"dev", "node"}, name: "node", want: "node"},
		"Several":   {reason: "Without a name nobody can tell.", running: []string{"dev", "node"}, refused: "say to which of dev-"},
		"Ended":     {reason: "What has ended does not count.", ended: []string{"dev"}, refused: "nothing runs"},
		"NotThat":   {reason: "A name of none is told what there is.", running: []string{"dev"}, name: "node", refused: "there are dev-"},
		"NoneAtAll": {reason: "Nor does what never was.", refused: "nothing runs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, kind := range tc.running {
				offered(t, root, kind, self(t), kind)
			}
			for _, kind := range tc.ended {
				offered(t, root, kind, nobody(t), kind)
			}
			got, err := Attach(root, tc.name)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("%s\ngot error %v, want one that says %q", tc.reason, err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("export VALUE='"+tc.want+"'\n", got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestClean(t *testing.T) {
	root := t.TempDir()
	kept := func(kind, owner string) string { // It offers nothing: it has failed and kept its logs, or is beginning.
		dir, err := Folder(root, kind, owner)
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	running, killed := offered(t, root, "dev", self(t), ""), offered(t, root, "node", nobody(t), "")
	failed, other, beginning := kept("e2e", nobody(t)), kept("demo", nobody(t)), kept("e2e", self(t))
	there := func() map[string]bool {
		found := map[string]bool{}
		for _, dir := range []string{running, killed, failed, other, beginning} {
			_, err := os.Stat(dir)
			found[dir] = err == nil
		}
		return found
	}
	for _, step := range []struct {
		kind string
		want map[string]bool
	}{
		{"e2e", map[string]bool{running: true, killed: false, failed: false, other: true, beginning: true}},
		{"", map[string]bool{running: true, killed: false, failed: false, other: false, beginning: true}},
	} {
		if err := Clean(root, step.kind); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, there()); diff != "" {
			t.Errorf("after Clean of kind %q these are there: -want, +got:\n%s", step.kind, diff)
		}
	}
}
