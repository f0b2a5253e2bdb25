package docs_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/bench"
)

// No figure of the page is typed by hand: the page and its picture are what the
// data of the run beside it make.
func TestPerformance(t *testing.T) {
	report, err := bench.Read(strings.NewReader(read(t, "performance.json")))
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "performance.md")
	want, err := bench.Rewrite([]byte(page), report)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page); diff != "" {
		t.Errorf("the page is not what its data make, run make bench-docs: -want, +got:\n%s", diff)
	}
	var picture bytes.Buffer
	if err := bench.Picture(&picture, report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(picture.String(), read(t, "performance.svg")); diff != "" {
		t.Errorf("the picture is not what its data make, run make bench-docs: -want, +got:\n%s", diff)
	}
}
