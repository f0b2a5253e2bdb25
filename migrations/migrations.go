// Package migrations holds the schema of the database: numbered pairs of SQL
// files, one idea each. A file is never edited once it is released; what it got
// wrong is put right by a later one.
//
// Each file runs in one transaction together with the note that it ran, so it
// holds no BEGIN and no statement that cannot run in a transaction. Names are
// not qualified: they land in the first schema of the search path.
package migrations

import "embed"

// Files are the migrations that this binary knows. The image ships the same
// files in /migrations for people who want to read them.
//
//go:embed *.sql
var Files embed.FS
