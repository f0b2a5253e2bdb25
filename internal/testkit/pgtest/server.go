package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// serverVariable names a server for tests: the DSN of a superuser. A DSN that
// is set for other purposes is never used, because tests migrate down.
const serverVariable = "FINOPS_TEST_POSTGRES"

var (
	// server is one per test binary.
	server = sync.OnceValues(findServer)

	// leash is the harness's standard input. It is kept, because a file that
	// nothing refers to is closed by the garbage collector, and the server
	// would go in the middle of a test.
	leash io.Closer //nolint:unused // Held, not used.
)

func findServer() (string, error) {
	if dsn := os.Getenv(serverVariable); dsn != "" {
		return dsn, nil
	}
	return startServer()
}

// startServer has the harness run a throw-away server. The server lives until
// the harness's standard input closes, so it goes when this process goes,
// whatever ends it.
func startServer() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	harness := exec.Command("go", "run", "-C", filepath.Join(root, "cluster"), "./cmd/harness", "postgres")
	harness.Stderr = os.Stderr
	if leash, err = harness.StdinPipe(); err != nil {
		return "", fmt.Errorf("cannot hold the harness by its input: %w", err)
	}
	out, err := harness.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("cannot read what the harness prints: %w", err)
	}
	if err := harness.Start(); err != nil {
		return "", fmt.Errorf("cannot start the harness: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("cannot get a PostgreSQL server from the harness (or name one in %s): %w",
			serverVariable, errors.Join(err, harness.Wait()))
	}
	return strings.TrimSpace(line), nil
}

// moduleRoot is the folder of the go.mod above the package under test.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("cannot find the module: no go.mod above the working directory")
		}
		dir = parent
	}
}

// execOn runs one statement on a connection of its own.
func execOn(ctx context.Context, config *pgx.ConnConfig, sql string) (err error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, sql)
	return err
}
