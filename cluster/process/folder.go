package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const folderPrefix = "finops-"

// Folder makes a temporary folder for something of this process, which is to
// remove it. If it is killed before, CleanFolders does.
func Folder(kind string) (string, error) {
	owner, err := Self()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", folderPrefix+kind+"-"+owner.String()+"-")
	if err != nil {
		return "", fmt.Errorf("cannot make a temporary folder: %w", err)
	}
	return dir, nil
}

// CleanFolders removes the temporary folders of processes that live no longer.
func CleanFolders() error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*-*-*-*-*"))
	if err != nil {
		return fmt.Errorf("cannot list temporary folders: %w", err)
	}
	var failed error
	for _, dir := range dirs {
		if owner, ok := folderOwner(filepath.Base(dir)); ok && !owner.Lives() {
			failed = errors.Join(failed, os.RemoveAll(dir))
		}
	}
	return failed
}

// folderOwner reads the owner from a folder's name; what is not named like ours
// has none.
func folderOwner(name string) (Owner, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 6 { // finops, the kind, three of the owner, and something to tell it from others.
		return Owner{}, false
	}
	owner, err := ParseOwner(strings.Join(parts[2:5], "-"))
	return owner, err == nil
}
