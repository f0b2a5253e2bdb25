package finopsprovider

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

const (
	messageOwnOpenCost = "OpenCost is not run by the multi-tenant operator, so there is nothing to configure"
	messageConfigured  = "OpenCost is configured"
	messageLeftovers   = "OpenCost is configured; the cloud settings of an earlier provider option are left in place"
	messageRestartDue  = "OpenCost is configured, and yet to be restarted"
	messageNoOption    = "no valid provider option"
)

func messageSynced(leftovers bool) string {
	if leftovers {
		return messageLeftovers
	}

	return messageConfigured
}

// remarked adds what in the spec has no effect.
func remarked(message string, p *v1alpha1.FinOpsProvider) string {
	if remark := options(p).Remark(); remark != "" {
		return message + "; " + remark
	}

	return message
}

// reportSynced says that OpenCost is as the spec wants it. The time of the sync
// moves if something was applied, or if this is news about the spec: on every
// resync it would keep the object busy.
func reportSynced(p *v1alpha1.FinOpsProvider, message string, now time.Time, applied bool) {
	news := p.Status.ObservedGeneration != p.Generation || !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.TypeReady)
	if applied || news {
		t := metav1.NewTime(now).Rfc3339Copy()
		p.Status.LastSyncTime = &t
	}
	p.Status.ObservedGeneration = p.Generation
	p.Report(v1alpha1.Ready(v1alpha1.ReasonSynced, remarked(message, p)))
}

func reportNoOption(p *v1alpha1.FinOpsProvider) {
	p.Status.ObservedGeneration = p.Generation
	p.Report(v1alpha1.NotReady(v1alpha1.ReasonNoValidProviderOption, remarked(messageNoOption, p)))
}

func reportNotFound(p *v1alpha1.FinOpsProvider, err *notFoundError) {
	p.Status.ObservedGeneration = p.Generation
	p.Report(v1alpha1.NotReady(v1alpha1.ReasonOpenCostResourceNotFound, err.Error()))
}

func reportFailed(p *v1alpha1.FinOpsProvider, err error) {
	p.Status.ObservedGeneration = p.Generation
	p.Report(v1alpha1.NotReady(v1alpha1.ReasonSyncFailed, err.Error()))
}
