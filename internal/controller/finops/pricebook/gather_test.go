package pricebook

import (
	"context"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// books is a reader that lists these books, or fails.
type books struct {
	client.Reader

	list []v1alpha1.PriceBook
	err  error
}

func (b books) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	l, ok := list.(*v1alpha1.PriceBookList)
	if !ok {
		return errors.Errorf("cannot list %T", list)
	}
	l.Items = b.list

	return b.err
}

// TestElect shows on which evidence the slot moves.
func TestElect(t *testing.T) {
	book := func(name string, active bool, annotation string) v1alpha1.PriceBook {
		return v1alpha1.PriceBook{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{v1alpha1.AnnotationActive: annotation}},
			Status:     v1alpha1.PriceBookStatus{Active: active},
		}
	}
	type want struct {
		Winner  string
		Demote  []string
		Promote bool
		Failed  bool
	}
	unread := books{err: errors.New("not to be read")}

	cases := map[string]struct {
		reason string
		cache  books
		live   books
		want   want
	}{
		"Settled": {
			reason: "What the cache calls settled costs no read of the server.",
			cache:  books{list: []v1alpha1.PriceBook{book("a", true, ""), book("b", false, "")}},
			live:   unread,
			want:   want{Winner: "a"},
		},
		"Empty": {
			reason: "Without books there is no winner, and nothing to do.",
			live:   unread,
		},
		"StaleIncumbents": {
			reason: "Once annotated, b took the slot; now that its annotation is gone it keeps it, whatever an older view of a says.",
			cache:  books{list: []v1alpha1.PriceBook{book("a", true, ""), book("b", true, "")}},
			live:   books{list: []v1alpha1.PriceBook{book("a", false, ""), book("b", true, "")}},
			want:   want{Winner: "b"},
		},
		"Challenger": {
			reason: "The one that asks for the slot takes it from the one that holds it.",
			cache:  books{list: []v1alpha1.PriceBook{book("a", true, ""), book("b", false, "true")}},
			live:   books{list: []v1alpha1.PriceBook{book("a", true, ""), book("b", false, "true")}},
			want:   want{Winner: "b", Demote: []string{"a"}, Promote: true},
		},
		"ServerUnread": {
			reason: "What the server does not confirm is not decided.",
			cache:  books{list: []v1alpha1.PriceBook{book("a", false, "")}},
			live:   unread,
			want:   want{Failed: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := &external{connector: &connector{live: tc.live}, cache: tc.cache}
			o, err := e.elect(context.Background())

			got := want{Promote: o.promote, Failed: err != nil}
			if o.winner != nil {
				got.Winner = o.winner.Name
			}
			for _, b := range o.demote {
				got.Demote = append(got.Demote, b.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nelect(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
