package audit

import (
	"errors"
	"fmt"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// application is how an audit shows among the sessions of the database.
const application = "provider-finops audit"

// Settings say which charges are looked at.
type Settings struct {
	Database    postgres.Config
	ClusterID   string
	Aggregation string
}

// FromEnvironment reads the variables that the collector's pod has, too (50.3).
// The error names every one that is missing or cannot be used.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	or := func(name, otherwise string) string {
		if value := getenv(name); value != "" {
			return value
		}
		return otherwise
	}
	s := Settings{
		Database: postgres.Config{
			DSN:         getenv("POSTGRES_CONNECTION_STRING"),
			Schema:      getenv("FINOPS_DB_SCHEMA"),
			Application: application,
		},
		ClusterID: or("CLUSTER_ID", "default"),
	}
	var wrong []error
	if s.Database.DSN == "" {
		wrong = append(wrong, errors.New("environment variable POSTGRES_CONNECTION_STRING must be set"))
	}
	var err error
	if s.Aggregation, err = collection.Aggregation(or("OPENCOST_AGGREGATE", collection.DefaultAggregation)); err != nil {
		wrong = append(wrong, fmt.Errorf("environment variable OPENCOST_AGGREGATE: %w", err))
	}
	return s, errors.Join(wrong...)
}
