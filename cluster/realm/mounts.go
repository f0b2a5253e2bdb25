package realm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// prepareMounts makes the mounts ours: what is mounted here is seen nowhere
// else, and what a node writes to fixed places falls into memory.
func prepareMounts() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("cannot part our mounts from the machine's: %w", err)
	}
	if err := mount("proc", "/proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return err
	}
	for _, each := range []struct{ dir, mode string }{{"/run", "mode=755"}, {"/dev/shm", "mode=1777"}} {
		if err := mount("tmpfs", each.dir, syscall.MS_NOSUID, each.mode); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return fmt.Errorf("cannot make a folder in memory: %w", err)
	}
	if err := os.Chmod(temporary, 0o777|os.ModeSticky); err != nil {
		return fmt.Errorf("cannot open a folder to everybody: %w", err)
	}
	// The machine may itself be a node, or have been one.
	if err := cover("/var/lib", "kubelet", "cni"); err != nil {
		return err
	}
	if err := cover("/var/log", "containers", "pods"); err != nil {
		return err
	}
	return shade()
}

// shaded are settings of the whole machine that a kubelet changes if they are
// not as it wants them, and what it wants.
var shaded = map[string]string{
	"kernel/keys/root_maxbytes": "25000000",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
}

// shade makes it find them so, and leaves the machine's as they are.
func shade() error {
	dir := filepath.Join(folder, "settings")
	for name, value := range shaded {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("cannot make a folder in memory: %w", err)
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("cannot write a setting: %w", err)
		}
		if err := syscall.Mount(file, filepath.Join("/proc/sys", name), "", syscall.MS_BIND, ""); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot shade the setting %q: %w", name, err)
		}
	}
	return nil
}

func mount(kind, dir string, flags uintptr, options string) error {
	if err := syscall.Mount(kind, dir, kind, flags, options); err != nil {
		return fmt.Errorf("cannot mount %s at %q: %w", kind, dir, err)
	}
	return nil
}

// cover puts memory over a folder in which everything is as it was, but for
// some entries: those are new and empty. So they need not be made, and
// removed, where the machine sees them.
func cover(dir string, fresh ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot cover %q: %w", dir, err)
	}
	below := filepath.Join(folder, "below", dir)
	if err := os.MkdirAll(below, 0o755); err != nil {
		return fmt.Errorf("cannot cover %q: %w", dir, err)
	}
	if err := syscall.Mount(dir, below, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("cannot keep what is in %q: %w", dir, err)
	}
	if err := mount("tmpfs", dir, syscall.MS_NOSUID, "mode=755"); err != nil {
		return err
	}
	for _, entry := range entries {
		if slices.Contains(fresh, entry.Name()) {
			continue
		}
		if err := show(filepath.Join(below, entry.Name()), filepath.Join(dir, entry.Name()), entry); err != nil {
			return fmt.Errorf("cannot show what is in %q: %w", dir, err)
		}
	}
	for _, name := range fresh {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return fmt.Errorf("cannot cover %q: %w", dir, err)
		}
	}
	if err := syscall.Unmount(below, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("cannot let go of %q: %w", below, err)
	}
	return nil
}

func show(from, at string, entry os.DirEntry) error {
	switch {
	case entry.Type()&os.ModeSymlink != 0:
		to, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(to, at)
	case entry.IsDir():
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
	default:
		file, err := os.Create(at)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	err := syscall.Mount(from, at, "", syscall.MS_BIND|syscall.MS_REC, "")
	if errors.Is(err, os.ErrNotExist) {
		return nil // It has gone since it was listed, as logs do.
	}
	return err
}
