package toolbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cacheKey tells two builds apart: by the module's files, the flags and the
// compiler. Each part is written with its length, so no two lists of parts are
// the same text.
func cacheKey(module, version string, flags []string) (string, error) {
	files, err := moduleFiles(module)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	part := func(s string) { _, _ = fmt.Fprintf(sum, "%d:%s\n", len(s), s) }
	part(version)
	part(strings.Join(flags, "\n"))
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return "", fmt.Errorf("cannot read the tool module: %w", err)
		}
		part(file)
		part(string(text))
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

func moduleFiles(module string) ([]string, error) {
	files := []string{"go.mod", "go.sum"}
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		name, err := filepath.Rel(module, path)
		files = append(files, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list the tool module: %w", err)
	}
	slices.Sort(files)
	return files, nil
}
