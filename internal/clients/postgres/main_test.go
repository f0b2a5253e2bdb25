package postgres_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// migratorVariable turns the test binary into a process that opens the
// database it names and ends, for tests that need processes rather than
// goroutines.
const migratorVariable = "FINOPS_TEST_MIGRATOR_DSN"

func TestMain(m *testing.M) {
	dsn, isMigrator := os.LookupEnv(migratorVariable)
	if !isMigrator {
		os.Exit(m.Run())
	}
	pool, err := postgres.Open(context.Background(), postgres.Config{
		DSN:          dsn,
		Schema:       os.Getenv("FINOPS_DB_SCHEMA"),
		MigrationDir: os.Getenv("FINOPS_MIGRATION_DIR"),
		OnMigrated:   func(from, to uint) { _, _ = fmt.Fprintf(os.Stdout, "migrated from %d to %d\n", from, to) },
	})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	pool.Close()
}
