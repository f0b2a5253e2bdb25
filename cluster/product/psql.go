package product

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// A Psql speaks to one database.
type Psql struct {
	Path string
	DSN  string
}

// Run returns what psql prints for one statement.
func (p Psql) Run(ctx context.Context, sql string, options ...string) (string, error) {
	args := append([]string{p.DSN, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--command=" + sql}, options...)
	cmd := process.Command(ctx, p.Path, args...)
	cmd.Env = append(cleanEnvironment(), "PGTZ=UTC", "PAGER=cat")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot query the database: %w\n%s", err, out)
	}
	return string(out), nil
}

// Rows reads a query's rows into a slice; columns go by their names.
func (p Psql) Rows(ctx context.Context, into any, query string) error {
	query = strings.TrimSuffix(strings.TrimSpace(query), ";")
	text, err := p.Run(ctx, "SELECT coalesce(json_agg(r), '[]') FROM ("+query+") AS r", "--tuples-only", "--no-align", "--quiet")
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("cannot read the database's answer: %w", err)
	}
	return nil
}

// CreateDatabase makes a database on a server, given by the DSN of another of
// its databases, and returns the new one's DSN.
func CreateDatabase(ctx context.Context, path, dsn, name string) (string, error) {
	if _, err := (Psql{path, dsn}).Run(ctx, `CREATE DATABASE "`+name+`"`); err != nil {
		return "", err
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("cannot read the server's DSN, want a URL: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}
