package dev

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What changes is seen, whatever changes about it; what cannot matter is not.
func TestChanged(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(t *testing.T, root string)
		want   []string
	}{
		"Nothing": {reason: "Without a change there is nothing to do.", change: func(*testing.T, string) {}},
		"Code": {
			reason: "Another text is a change.",
			change: func(t *testing.T, root string) { write(t, root, "internal/a.go", "package other") },
			want:   []string{"internal/a.go"},
		},
		"SameSize": {
			reason: "So is one that is as long.",
			change: func(t *testing.T, root string) {
				if err := os.Chtimes(filepath.Join(root, "internal/a.go"), time.Time{}, time.Unix(1, 0)); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"internal/a.go"},
		},
		"New": {
			reason: "So is a file that was not there, in a folder that was not.",
			change: func(t *testing.T, root string) { write(t, root, "migrations/9/x.sql", "") },
			want:   []string{"migrations/9/x.sql"},
		},
		"Gone": {
			reason: "So is one that is there no longer.",
			change: func(t *testing.T, root string) {
				if err := os.Remove(filepath.Join(root, "package/crds/a.yaml")); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"package/crds/a.yaml"},
		},
		"Others": {
			reason: "Tests, their data, notes and what editors write do not run.",
			change: func(t *testing.T, root string) {
				for _, name := range []string{"internal/a_test.go", "internal/testdata/x.go", "internal/.a.go", "internal/a.go~", "apis/README.md", "docs/a.yaml"} {
					write(t, root, name, "")
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "internal/a.go", "package a")
			write(t, root, "package/crds/a.yaml", "")
			before, err := look(root)
			if err != nil {
				t.Fatal(err)
			}
			tc.change(t, root)
			now, err := look(root)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, before.changed(now)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWorkFor(t *testing.T) {
	cases := map[string]struct {
		reason string
		names  []string
		want   work
	}{
		"Code":     {reason: "Code is built.", names: []string{"internal/a.go", "go.mod"}, want: work{program: true}},
		"Embedded": {reason: "So is what is embedded.", names: []string{"internal/controller/cronjob.yaml"}, want: work{program: true}},
		"CRD":      {reason: "A CRD is applied.", names: []string{"package/crds/a.yaml"}, want: work{definitions: true}},
		"Rights":   {reason: "So are rights.", names: []string{"cluster/install/access/a.yaml"}, want: work{definitions: true}},
		"Webhooks": {reason: "Webhooks are registered.", names: []string{"package/webhookconfigurations/a.yaml"}, want: work{webhooks: true}},
		"All":      {reason: "A change of everything does everything.", names: []string{"apis/a.go", "package/crds/a.yaml", "package/webhookconfigurations/a.yaml"}, want: work{true, true, true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, workFor(tc.names), cmp.AllowUnexported(work{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
