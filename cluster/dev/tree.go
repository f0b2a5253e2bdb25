package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// watched is what the running product is made of, from the project's root.
var watched = []string{"apis", "cmd/provider", "internal", "migrations", "package", "cluster/install", "go.mod", "go.sum"}

// A tree is the state of the watched files.
type tree map[string]stamp

type stamp struct {
	size     int64
	modified time.Time
}

// look reads the state of all watched files; what cannot change a running
// product is left out.
func look(root string) (tree, error) {
	t := tree{}
	for _, top := range watched {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil // It has just gone, as files do that editors write.
			}
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil || !matters(name) {
				return err
			}
			info, err := entry.Info()
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err == nil {
				t[name] = stamp{info.Size(), info.ModTime()}
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("cannot look for changes: %w", err)
		}
	}
	return t, nil
}

// matters says whether a file can change what runs.
func matters(name string) bool {
	if strings.HasPrefix(filepath.Base(name), ".") || strings.Contains(name, "/testdata/") || strings.HasSuffix(name, "_test.go") {
		return false
	}
	return slices.Contains([]string{".go", ".sql", ".yaml", ".mod", ".sum"}, filepath.Ext(name))
}

// changed lists the files that are different, new or gone, in order.
func (t tree) changed(now tree) []string {
	var names []string
	for name, stamp := range now {
		if before, ok := t[name]; !ok || before.size != stamp.size || !before.modified.Equal(stamp.modified) {
			names = append(names, name)
		}
	}
	for name := range t {
		if _, ok := now[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// What has to be done for a change.
type work struct{ definitions, webhooks, program bool }

// workFor says what the changed files ask for.
func workFor(names []string) work {
	var w work
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "package/webhookconfigurations/"):
			w.webhooks = true
		case strings.HasPrefix(name, "package/"), strings.HasPrefix(name, "cluster/install/"):
			w.definitions = true
		default:
			w.program = true
		}
	}
	return w
}
