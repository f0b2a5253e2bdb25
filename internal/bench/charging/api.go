package charging

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// catalogue is where the Offering of all members lies, and crowd where they lie.
const (
	catalogue = "catalogue"
	crowd     = "crowd"
	offered   = "both"
)

// begin is when all members were activated.
var begin = time.Date(2026, time.March, 5, 0, 0, 0, 0, time.UTC)

// member is the n-th Subscription, with what a real one carries around.
func member(n int) v1alpha1.Subscription {
	written := metav1.NewTime(begin)
	fields := `{"f:metadata":{"f:finalizers":{".":{},"v:\"finops.stakater.com/subscription\"":{}}},"f:spec":{".":{},"f:offeringRef":{".":{},"f:name":{},"f:namespace":{}},"f:usageSources":{}}}`
	return v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: crowd, Name: fmt.Sprintf("member-%d", n), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)),
			ResourceVersion: "1", Generation: 1, Finalizers: []string{v1alpha1.SubscriptionFinalizer}, CreationTimestamp: written,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "crossplane", "crossplane.io/composite": fmt.Sprintf("tenant-%d", n)},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "crossplane", Operation: metav1.ManagedFieldsOperationApply, APIVersion: v1alpha1.GroupVersion.String(), Time: &written, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}},
				{Manager: "finops-controller", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1alpha1.GroupVersion.String(), Time: &written, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}, Subresource: "status"},
			},
		},
		Spec: v1alpha1.SubscriptionSpec{
			OfferingRef:  v1alpha1.ObjectReference{Namespace: catalogue, Name: offered},
			UsageSources: []v1alpha1.UsageSource{{Namespace: fmt.Sprintf("ns-%d", n)}},
		},
		Status: v1alpha1.SubscriptionStatus{ActivatedAt: &written},
	}
}

// offering is what all members are charged on: a fee and two meters.
func offering() v1alpha1.Offering {
	return v1alpha1.Offering{
		ObjectMeta: metav1.ObjectMeta{Namespace: catalogue, Name: offered, UID: "10000000-0000-4000-8000-000000000001", Generation: 1},
		Spec: v1alpha1.OfferingSpec{Pricing: v1alpha1.Pricing{
			SubscriptionFee: &v1alpha1.SubscriptionFee{TickAlignment: v1alpha1.TickAlignmentHourBoundary, Period: "1", PriceMicros: 1000},
			ResourcePricing: []v1alpha1.Meter{{Name: v1alpha1.MeterCPUHour}, {Name: v1alpha1.MeterRAMGbHour}},
		}},
	}
}

// A crowdAPI answers what a charge run asks an API server, for any number of
// members, so that what is measured is the run and not the server.
type crowdAPI struct {
	size    int
	patched atomic.Int64
}

func (a *crowdAPI) handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(object any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { reply(w, object) }
	}
	version := metav1.GroupVersionForDiscovery{GroupVersion: v1alpha1.GroupVersion.String(), Version: v1alpha1.GroupVersion.Version}
	group := metav1.APIGroup{Name: v1alpha1.GroupVersion.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	group.APIVersion, group.Kind = "v1", "APIGroup"
	resources := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: v1alpha1.GroupVersion.String()}
	for _, kind := range []string{"Subscription", "Offering", "PriceBook", "CostJob"} {
		singular := strings.ToLower(kind)
		resources.APIResources = append(resources.APIResources, metav1.APIResource{
			Name: singular + "s", SingularName: singular, Namespaced: true, Kind: kind, Verbs: metav1.Verbs{"get", "list", "patch"},
		})
	}
	path := "/apis/" + v1alpha1.GroupVersion.String()
	mux.HandleFunc("GET /api", answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}))
	mux.HandleFunc("GET /apis", answer(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}))
	mux.HandleFunc("GET /apis/"+v1alpha1.GroupVersion.Group, answer(group))
	mux.HandleFunc("GET "+path, answer(resources))

	offerings := &v1alpha1.OfferingList{Items: []v1alpha1.Offering{offering()}}
	offerings.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("OfferingList"))
	books := &v1alpha1.PriceBookList{}
	books.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PriceBookList"))
	jobs := &v1alpha1.CostJobList{}
	jobs.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("CostJobList"))
	mux.HandleFunc("GET "+path+"/offerings", answer(offerings))
	mux.HandleFunc("GET "+path+"/pricebooks", answer(books))
	mux.HandleFunc("GET "+path+"/costjobs", answer(jobs))
	mux.HandleFunc("GET "+path+"/subscriptions", a.list)
	mux.HandleFunc("PATCH "+path+"/namespaces/{namespace}/subscriptions/{name}/status", a.patch)
	return mux
}

func (a *crowdAPI) list(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("continue")) // Empty is the beginning.
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		limit = a.size
	}
	page := &v1alpha1.SubscriptionList{}
	page.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SubscriptionList"))
	to := min(from+limit, a.size)
	for n := from; n < to; n++ {
		page.Items = append(page.Items, member(n))
	}
	if to < a.size {
		page.Continue = strconv.Itoa(to)
	}
	reply(w, page)
}

// patch takes what it is given.
func (a *crowdAPI) patch(w http.ResponseWriter, r *http.Request) {
	a.patched.Add(1)
	given, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(given) // A client that has gone needs no answer.
}

func reply(w http.ResponseWriter, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // As above.
}
