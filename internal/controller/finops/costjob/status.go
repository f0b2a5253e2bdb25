package costjob

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// scheduled says that the CronJob stands as the spec wants it, and when it runs.
func (e *external) scheduled() metav1.Condition {
	return v1alpha1.Ready(v1alpha1.ReasonScheduled, fmt.Sprintf("CronJob %q runs at %q", e.next.wanted.Name, e.next.wanted.Spec.Schedule))
}

// notScheduled says why it does not.
func notScheduled(err error) metav1.Condition {
	return v1alpha1.NotReady(v1alpha1.ReasonNotScheduled, err.Error())
}
