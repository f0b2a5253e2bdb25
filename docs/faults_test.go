package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var namedTest = regexp.MustCompile("`((?:internal|cmd)/[a-z/]+): (Test[A-Za-z]+)`")

// TestFaults wants every test that the table of faults names to be there.
func TestFaults(t *testing.T) {
	named := namedTest.FindAllStringSubmatch(read(t, "design/faults.md"), -1)
	if len(named) == 0 {
		t.Fatal("the page names no test")
	}
	for _, n := range named {
		files, err := filepath.Glob(filepath.Join("..", n[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(`(?m)^func `+n[2]+`\(`).Match(text)
		}
		if !found {
			t.Errorf("%s has no %s", n[1], n[2])
		}
	}
}
