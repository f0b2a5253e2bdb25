package objects

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// TestBook gives every rate of the API a value of its own, so that one that is
// forgotten, or taken for another, is found.
func TestBook(t *testing.T) {
	given := &v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: "finops", Name: "tariff", Generation: 3},
		Spec:       v1alpha1.PriceBookSpec{ValuationMode: "currency"},
		Status:     v1alpha1.PriceBookStatus{Active: true},
	}
	want := pricing.Book{Key: ref.Key{Namespace: "finops", Name: "tariff"}, Generation: 3, Active: true, Mode: "currency"}
	if diff := cmp.Diff(want, Book(given)); diff != "" {
		t.Errorf("A book without rates: -want, +got:\n%s", diff)
	}

	given.Spec.Rates = &v1alpha1.PriceRates{}
	want.Rates = &pricing.Rates{}
	if diff := cmp.Diff(want, Book(given)); diff != "" {
		t.Errorf("One with an empty block: -want, +got:\n%s", diff)
	}

	rates := reflect.ValueOf(given.Spec.Rates).Elem()
	for i := range rates.NumField() {
		name := rates.Type().Field(i).Name
		rates.Field(i).SetString(name)
		reflect.ValueOf(want.Rates).Elem().FieldByName(name).SetString(name)
	}
	if rates.NumField() != reflect.TypeFor[pricing.Rates]().NumField() {
		t.Errorf("The API has %d rates, pricing %d", rates.NumField(), reflect.TypeFor[pricing.Rates]().NumField())
	}
	if diff := cmp.Diff(want, Book(given)); diff != "" {
		t.Errorf("One with all rates: -want, +got:\n%s", diff)
	}
}
