package postgres

import (
	"fmt"
	"io"
	"strings"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
)

// atomically lets a migration and the note that it ran be one transaction.
//
// The library marks the schema dirty, runs the file, and unmarks it: three
// transactions. A process that is killed in between leaves a mark that only a
// person can remove, although nothing is half done. Several statements sent
// as one message are one transaction, so here the note travels with the file:
// after a kill the schema is at the old version or at the new one, and the
// next process goes on by itself.
type atomically struct {
	database.Driver

	next int
	ran  bool
}

// SetVersion is called before a file with dirty, and after it without.
func (a *atomically) SetVersion(version int, dirty bool) error {
	if dirty {
		a.next, a.ran = version, false
		return nil
	}
	if a.ran && version == a.next {
		return nil
	}
	return a.Driver.SetVersion(version, false)
}

// Run applies a file together with the version it leads to.
func (a *atomically) Run(file io.Reader) error {
	table := pgx.Identifier{versionTable}.Sanitize()
	note := fmt.Sprintf("\n;\nDELETE FROM %s;\n", table)
	if a.next != database.NilVersion {
		note += fmt.Sprintf("INSERT INTO %s (version, dirty) VALUES (%d, false);\n", table, a.next)
	}
	if err := a.Driver.Run(io.MultiReader(file, strings.NewReader(note))); err != nil {
		return err
	}
	a.ran = true
	return nil
}
