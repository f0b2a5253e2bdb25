package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/schema_state.sql
var schemaStateSQL string

// tables are what the first migrations create. None may exist before.
var tables = []string{
	"allocation_days", "allocation_hours", "mv_provider_allocations_summary", "offerings", "pricebooks",
	"provider_allocations", "subscription_charges", "subscription_watermarks", "subscriptions",
}

// schemaState is what a database holds before anything is done to it.
type schemaState struct {
	Home        string // Where new tables land; empty if the search path leads nowhere.
	HasSchema   bool   // Home exists, and is the schema asked for.
	HasVersions bool   // Our version table is there.
	Taken       string // The first table of ours that is there.

	Version uint `db:"-"`
	Dirty   bool `db:"-"`
}

func readState(ctx context.Context, db DB, schema string) (schemaState, error) {
	rows, err := db.Query(ctx, schemaStateSQL, pgx.StrictNamedArgs{
		"schema": schema, "version_table": versionTable, "tables": tables,
	})
	if err != nil {
		return schemaState{}, fmt.Errorf("cannot read the state of the schema: %w", err)
	}
	state, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[schemaState])
	if err != nil {
		return schemaState{}, fmt.Errorf("cannot read the state of the schema: %w", err)
	}
	if state.Home == "" && schema == "" {
		return schemaState{}, errors.New("cannot find a schema to work in: no schema of the search path exists")
	}
	if !state.HasSchema || !state.HasVersions {
		return state, nil
	}

	// No row at all is version 0: the table is made before the first migration.
	rows, err = db.Query(ctx, "SELECT version, dirty FROM "+versionTable+" ORDER BY version DESC LIMIT 1")
	if err != nil {
		return schemaState{}, fmt.Errorf("cannot read the schema's version: %w", err)
	}
	if _, err := pgx.ForEachRow(rows, []any{&state.Version, &state.Dirty}, func() error { return nil }); err != nil {
		return schemaState{}, fmt.Errorf("cannot read the schema's version: %w", err)
	}
	return state, nil
}

// settled says that there is nothing to do, or why nothing may be done.
func (s schemaState) settled(latest uint, newer bool) (bool, error) {
	switch {
	case s.HasSchema && !s.HasVersions && s.Taken != "":
		return false, fmt.Errorf("cannot use schema %q: it holds a table %q that another installation made; "+
			"set FINOPS_DB_SCHEMA to keep our tables in a schema of their own", s.Home, s.Taken)
	case s.Dirty:
		return false, fmt.Errorf("cannot use schema %q: migration %d is marked dirty in %s, by hand or by another tool; "+
			"find out whether its changes are there, then set version to %d if they are or %d if not, and dirty to false",
			s.Home, s.Version, versionTable, s.Version, s.Version-1)
	case s.Version > latest && !newer:
		return false, fmt.Errorf("cannot use schema %q: it is at version %d and this release knows %d; "+
			"run the release that upgraded it, or a newer one", s.Home, s.Version, latest)
	}
	return s.Version >= latest, nil
}
