package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// oldestMajor is the oldest PostgreSQL that the product supports.
const oldestMajor = 14

// serverProgram is the server itself.
const serverProgram = "postgres"

// debianDirs is where Debian and its kin keep server binaries, off the PATH.
const debianDirs = "/usr/lib/postgresql/*/bin"

var versionText = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// Binaries are the server programs of one PostgreSQL installation.
type Binaries struct {
	Dir   string
	Major int
}

// Path is the full name of one program.
func (b Binaries) Path(program string) string { return filepath.Join(b.Dir, program) }

// Find returns the newest installation on the PATH or where Debian keeps them.
// If there is none, it installs the package when it may (as root, with apt),
// and otherwise names what is missing.
func Find(ctx context.Context, progress io.Writer) (Binaries, error) {
	found, ok := newest(ctx, candidates())
	if ok {
		return found, nil
	}
	missing := fmt.Errorf("cannot find PostgreSQL %d or newer (initdb, postgres, psql) on the PATH or in %s: install the package \"postgresql\", or name a server of yours in FINOPS_TEST_POSTGRES", oldestMajor, debianDirs)
	apt, err := exec.LookPath("apt-get")
	if os.Geteuid() != 0 || err != nil {
		return Binaries{}, missing
	}
	_, _ = fmt.Fprintln(progress, "PostgreSQL is not installed: installing the package \"postgresql\"")
	if err := process.AptInstall(ctx, apt, progress, "postgresql"); err != nil {
		return Binaries{}, errors.Join(missing, err)
	}
	if found, ok = newest(ctx, candidates()); !ok {
		return Binaries{}, missing
	}
	return found, nil
}

func candidates() []string {
	dirs, _ := filepath.Glob(debianDirs) // The pattern is sound.
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		// A link on the PATH leads to where its sister programs are.
		if initdb, err := filepath.EvalSymlinks(filepath.Join(dir, "initdb")); err == nil {
			dirs = append(dirs, filepath.Dir(initdb))
		}
	}
	return dirs
}

func newest(ctx context.Context, dirs []string) (Binaries, bool) {
	var best Binaries
	for _, dir := range dirs {
		b := Binaries{Dir: dir, Major: major(ctx, dir)}
		if b.Major >= oldestMajor && b.Major > best.Major {
			best = b
		}
	}
	return best, best.Major > 0
}

// major is the version of a complete installation, 0 for anything else.
func major(ctx context.Context, dir string) int {
	for _, program := range []string{"initdb", "psql"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return 0
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, serverProgram), "--version").Output()
	if err != nil {
		return 0
	}
	match := versionText.FindSubmatch(out)
	if match == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(match[1])) // The pattern admits digits only.
	return n
}
