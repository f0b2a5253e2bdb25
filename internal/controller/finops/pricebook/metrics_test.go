package pricebook

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestMetrics reads the active one off two books.
func TestMetrics(t *testing.T) {
	book := func(name string, active bool) *v1alpha1.PriceBook {
		return &v1alpha1.PriceBook{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			Spec:       v1alpha1.PriceBookSpec{Currency: "EUR"},
			Status:     v1alpha1.PriceBookStatus{Active: active},
		}
	}
	want := `
# HELP finops_pricebook_active 1 for the price book that is the active one.
# TYPE finops_pricebook_active gauge
finops_pricebook_active{currency="EUR",name="b",namespace="ns"} 1
`
	c := collector{reader: fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(book("a", false), book("b", true)).Build()}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
