package charge

import (
	"context"
	"iter"
	"runtime/metrics"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// firstPage is how many objects are read at a time before anybody knows how
	// heavy they are, and largestPage how many at most.
	firstPage   = 50
	largestPage = 200

	// pageWeight is how many bytes the reading of one page should allocate.
	pageWeight = 8 << 20
)

// A page is how many objects are read at a time. Only one page of whole objects
// is ever held, so there are the fewer in it the heavier they are: somebody may
// have thousands of usage sources.
type page struct{ limit int64 }

// weighed sizes the next page by what the reading of this one has allocated.
func (p *page) weighed(bytes uint64) {
	fits := float64(p.limit) * pageWeight / float64(max(bytes, 1))
	p.limit = int64(min(max(fits, 1), largestPage))
}

// items lists a kind in all namespaces, a page at a time, and hands out the
// objects. The last may come with an error, and is then none.
func items[I, T any, L interface {
	*T
	client.ObjectList
}](ctx context.Context, r *run, of func(L) []I) iter.Seq2[*I, error] {
	return func(yield func(*I, error) bool) {
		next := page{limit: firstPage}
		for token := ""; ; {
			list := L(new(T))
			before := allocated()
			if err := r.list(ctx, list, next.limit, token); err != nil {
				yield(nil, err)
				return
			}
			next.weighed(allocated() - before)
			found := of(list)
			for i := range found {
				if !yield(&found[i], nil) {
					return
				}
			}
			if token = list.GetContinue(); token == "" {
				return
			}
		}
	}
}

func (r *run) list(ctx context.Context, page client.ObjectList, limit int64, token string) error {
	ctx, cancel := context.WithTimeout(ctx, r.KubernetesOperationTimeout)
	defer cancel()
	return r.client.List(ctx, page, client.Limit(limit), client.Continue(token))
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
