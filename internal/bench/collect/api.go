package collect

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

const (
	namespace = "finops"
	costJob   = "hourly"
)

// serveAPI answers the requests that a run sends to an API server: what there
// is, its CostJob, the price books, and the record.
func serveAPI(mux *http.ServeMux) {
	answer := func(object any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(object) // A client that has gone needs no answer.
		}
	}

	version := metav1.GroupVersionForDiscovery{GroupVersion: v1alpha1.GroupVersion.String(), Version: v1alpha1.GroupVersion.Version}
	group := metav1.APIGroup{Name: v1alpha1.GroupVersion.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	group.APIVersion, group.Kind = "v1", "APIGroup"
	verbs := metav1.Verbs{"get", "list", "patch"}
	mux.HandleFunc("GET /api", answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}))
	mux.HandleFunc("GET /apis", answer(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}))
	path := "/apis/" + v1alpha1.GroupVersion.String()
	mux.HandleFunc("GET /apis/"+v1alpha1.GroupVersion.Group, answer(group))
	mux.HandleFunc("GET "+path, answer(metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: v1alpha1.GroupVersion.String(),
		APIResources: []metav1.APIResource{
			{Name: "costjobs", SingularName: "costjob", Namespaced: true, Kind: "CostJob", Verbs: verbs},
			{Name: "pricebooks", SingularName: "pricebook", Namespaced: true, Kind: "PriceBook", Verbs: verbs},
		},
	}))

	job := &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: costJob, UID: "00000000-0000-4000-8000-0000000000c0", ResourceVersion: "1"}}
	job.SetGroupVersionKind(v1alpha1.CostJobGroupVersionKind)
	book := v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tariff", UID: "00000000-0000-4000-8000-0000000000b0", Generation: 1},
		Spec: v1alpha1.PriceBookSpec{
			Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency, Rates: &v1alpha1.PriceRates{CPUHour: "0.031"},
		},
		Status: v1alpha1.PriceBookStatus{Active: true},
	}
	books := &v1alpha1.PriceBookList{Items: []v1alpha1.PriceBook{book}}
	books.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PriceBookList"))
	mux.HandleFunc("GET "+path+"/namespaces/"+namespace+"/costjobs/"+costJob, answer(job))
	mux.HandleFunc("PATCH "+path+"/namespaces/"+namespace+"/costjobs/"+costJob+"/status", answer(job))
	mux.HandleFunc("GET "+path+"/pricebooks", answer(books))
}
