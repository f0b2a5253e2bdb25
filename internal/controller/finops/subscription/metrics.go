package subscription

import (
	"github.com/provider-finops/provider-finops/internal/controller/finops/mirrored"
)

// mirrorErrors counts versions that could not be stored.
var mirrorErrors = mirrored.Errors.WithLabelValues("Subscription")
