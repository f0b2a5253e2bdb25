package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Only what belongs to a process that is gone is removed.
func TestCleanFolders(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	own, err := Folder("test")
	if err != nil {
		t.Fatal(err)
	}
	dead := Owner{os.Getpid(), self.started - 1, self.namespace}
	elsewhere := Owner{os.Getpid(), self.started - 1, self.namespace + 1}
	want := map[string]bool{
		filepath.Base(own):                          true,
		"finops-test-" + dead.String() + "-42":      false,
		"finops-test-" + elsewhere.String() + "-42": true,
		"finops-report-2026-11-30-final":            true,
		"other-test-" + dead.String() + "-42":       true,
	}
	for name := range want {
		if err := os.MkdirAll(filepath.Join(os.TempDir(), name, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := CleanFolders(); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for name := range want {
		_, err := os.Stat(filepath.Join(os.TempDir(), name))
		got[name] = err == nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("still there: -want, +got:\n%s", diff)
	}
}
