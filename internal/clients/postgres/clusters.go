package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/claim_cluster.sql
var claimClusterSQL string

//go:embed sql/known_cluster.sql
var knownClusterSQL string

// An Owner is a cluster, by the id that scopes its rows and by what tells it
// from every other cluster: the uid of its namespace kube-system.
type Owner struct {
	ClusterID string
	Identity  string // Empty if it is not known; then nothing is claimed.
}

// ClaimCluster keeps a cluster id for the first cluster that uses it, and refuses
// every other: each would take the rows of the other for its own. An id that is
// this cluster's already costs one query and writes nothing.
func ClaimCluster(ctx context.Context, db DB, o Owner) error {
	if o.Identity == "" {
		return nil
	}
	holder, err := clusterHolder(ctx, db, o.ClusterID)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err = db.Exec(ctx, claimClusterSQL, pgx.StrictNamedArgs{"cluster_id": o.ClusterID, "identity": o.Identity}); err == nil {
			holder, err = clusterHolder(ctx, db, o.ClusterID)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot tell whose cluster id %q is: %w", o.ClusterID, err)
	}
	if holder != o.Identity {
		return fmt.Errorf("cannot use cluster id %q: it is another cluster's, whose namespace kube-system has the uid %q and not %q; give each cluster a CLUSTER_ID of its own",
			o.ClusterID, holder, o.Identity)
	}
	return nil
}

func clusterHolder(ctx context.Context, db DB, clusterID string) (string, error) {
	rows, err := db.Query(ctx, "SELECT identity FROM cluster_ids WHERE cluster_id = $1", clusterID)
	if err != nil {
		return "", err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
}

// FormerIDs returns the other ids that a cluster has used. Under each of them its
// Subscriptions were charged, too.
func FormerIDs(ctx context.Context, db DB, o Owner) ([]string, error) {
	return clusterIDs(ctx, db, "SELECT cluster_id FROM cluster_ids WHERE identity = $1 AND cluster_id <> $2 ORDER BY cluster_id", o.Identity, o.ClusterID)
}

// KnownCluster fails for an id under which nothing is: no cluster, Subscription,
// charge or hour that was collected.
func KnownCluster(ctx context.Context, db DB, clusterID string) error {
	found, err := clusterIDs(ctx, db, knownClusterSQL, clusterID)
	if err != nil || len(found) > 0 {
		return err
	}
	others, err := clusterIDs(ctx, db, "SELECT cluster_id FROM cluster_ids ORDER BY cluster_id")
	if err != nil {
		return err
	}
	return fmt.Errorf("cannot find cluster %q: the clusters of this database are %q", clusterID, others)
}

func clusterIDs(ctx context.Context, db DB, sql string, args ...any) ([]string, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("cannot read the ids of clusters: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("cannot read the ids of clusters: %w", err)
	}
	return ids, nil
}
