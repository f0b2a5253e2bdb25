package pricebook

import (
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/provider-finops/provider-finops/internal/controller/opencost"
)

// The events of a PriceBook (part 80.2).
const (
	reasonActivated        event.Reason = "Activated"
	reasonDemoted          event.Reason = "Demoted"
	reasonRestarted        event.Reason = "OpenCostRestarted"
	reasonParseFailed      event.Reason = "ParseFailed"
	reasonRestartFailed    event.Reason = "OpenCostRestartFailed"
	reasonSeveralAnnotated event.Reason = "SeveralAnnotated"
)

func activated() event.Event { return event.Normal(reasonActivated, messageActive) }

func demoted(message string) event.Event { return event.Normal(reasonDemoted, message) }

func restarted(i opencost.Installation) event.Event {
	return event.Normal(reasonRestarted, fmt.Sprintf("restarted Deployment %s/%s on the prices of this PriceBook", i.Namespace, i.Deployment))
}

func parseFailed(err error) event.Event { return event.Warning(reasonParseFailed, err) }

func restartFailed(err error) event.Event { return event.Warning(reasonRestartFailed, err) }

// severalAnnotated is said because users expect the book that was annotated
// last to win.
func severalAnnotated(n int, winner string) event.Event {
	return event.Warning(reasonSeveralAnnotated,
		fmt.Errorf("%d PriceBooks are annotated as active; the youngest of them is, which is %s, whichever was annotated last", n, winner))
}
