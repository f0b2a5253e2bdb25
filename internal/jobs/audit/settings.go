package audit

import (
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/jobs/environment"
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
	v := environment.Of(getenv)
	s := Settings{Database: v.Database(application), ClusterID: v.ClusterID(), Aggregation: v.Aggregation()}
	return s, v.Err()
}
