package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// askTimeout is how long the API server may take to say which cluster it is. Nobody
// would notice a controller that waits for that for ever.
const askTimeout = 30 * time.Second

// clusterOwner asks the API server which cluster it is: the namespace kube-system
// is there from a cluster's first moment to its last, and is restored with it.
// Whoever may not read it, or has an API server without one, does not know.
func clusterOwner(ctx context.Context, log logr.Logger, live client.Reader, clusterID string) (postgres.Owner, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var system corev1.Namespace
	err := live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &system)
	switch {
	case kerrors.IsForbidden(err) || kerrors.IsNotFound(err):
		log.Info("nothing keeps another cluster from using the same CLUSTER_ID, because this one cannot be told from it", "reason", err.Error())
	case err != nil:
		return postgres.Owner{}, fmt.Errorf("cannot tell which cluster this is: %w", err)
	}
	return postgres.Owner{ClusterID: clusterID, Identity: string(system.UID)}, nil
}
