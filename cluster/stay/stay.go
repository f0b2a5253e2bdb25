// Package stay is about what runs for a while: it has a folder of its own in the
// repository, named after the process it belongs to. A cluster that keeps running
// leaves in it how somebody in another terminal gets at it.
package stay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// environment is the file with lines for a shell.
const environment = "environment"

// Folder makes the folder of what runs, such as _output/dev-4711-815-4026531836; the kind
// says what it is, the owner which process it ends with.
func Folder(root, kind, owner string) (string, error) {
	dir := filepath.Join(output(root), kind+"-"+owner)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot make a folder for what is to run: %w", err)
	}
	return dir, nil
}

// Offer says how to get at what runs from another terminal: variables, each as
// NAME=value, and folders with programs.
func Offer(dir string, variables, programs []string) error {
	var text strings.Builder
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		_, _ = fmt.Fprintf(&text, "export %s=%s\n", name, quote(value))
	}
	if len(programs) > 0 {
		_, _ = fmt.Fprintf(&text, "export PATH=%s:\"$PATH\"\n", quote(strings.Join(programs, ":")))
	}
	// Under another name until it is whole: who finds it takes it.
	file := filepath.Join(dir, environment)
	err := os.WriteFile(file+".new", []byte(text.String()), 0o600)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("cannot say how to get at what runs: %w", err)
	}
	return nil
}

// quote is the value as one word of a shell.
func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'" }

// Attach returns the lines of what runs. Where several do, the name, or the
// beginning of it, says which.
func Attach(root, name string) (string, error) {
	folders, err := find(root)
	if err != nil {
		return "", err
	}
	var running, matching []folder
	for _, f := range folders {
		if !f.offers || !f.owner.Lives() {
			continue
		}
		running = append(running, f)
		if strings.HasPrefix(filepath.Base(f.dir), name) {
			matching = append(matching, f)
		}
	}
	switch {
	case len(running) == 0:
		return "", errors.New("cannot attach: nothing runs; start it with \"make dev\", \"make node\", \"make crossplane\" or \"make demo KEEP=1\"")
	case len(matching) == 0:
		return "", fmt.Errorf("cannot attach to %q: it does not run; there are %s", name, names(running))
	case len(matching) > 1:
		return "", fmt.Errorf("cannot attach: say to which of %s", names(matching))
	}
	text, err := os.ReadFile(filepath.Join(matching[0].dir, environment))
	if err != nil {
		return "", fmt.Errorf("cannot attach: %w", err)
	}
	return string(text), nil
}

// Clean removes the folders of what was killed hard, and those that runs of the
// kind have kept for their logs: the next one has begun. Of the kind "" all are.
// What still runs keeps its own.
func Clean(root, kind string) error {
	folders, err := find(root)
	for _, f := range folders {
		if ended := f.offers || kind == "" || kind == f.kind; ended && !f.owner.Lives() {
			err = errors.Join(err, os.RemoveAll(f.dir))
		}
	}
	return err
}

// A folder is that of something that runs, or has run.
type folder struct {
	dir, kind string
	owner     process.Owner
	offers    bool // It says how to attach: nobody has ended it in order.
}

func find(root string) ([]folder, error) {
	dirs, err := filepath.Glob(filepath.Join(output(root), "*-*-*-*"))
	if err != nil {
		return nil, fmt.Errorf("cannot look for what runs: %w", err)
	}
	var found []folder
	for _, dir := range dirs {
		kind, text, _ := strings.Cut(filepath.Base(dir), "-")
		if owner, err := process.ParseOwner(text); err == nil { // Others are not ours.
			_, missing := os.Stat(filepath.Join(dir, environment))
			found = append(found, folder{dir, kind, owner, missing == nil})
		}
	}
	return found, nil
}

func names(folders []folder) string {
	text := make([]string, 0, len(folders))
	for _, f := range folders {
		text = append(text, filepath.Base(f.dir))
	}
	slices.Sort(text)
	return strings.Join(text, ", ")
}

func output(root string) string { return filepath.Join(root, "_output") }
