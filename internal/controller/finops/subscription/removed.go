package subscription

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// removed remembers Subscriptions that are gone while others still descend from
// them: those below are still below (OPEN-SUB-5), and still have their root
// (BETTER-SUB-4). It learns of them from the events of their end, and from the
// mirror of those that went before this process led. What it does not know is
// unknown, and ends nobody.
type removed struct {
	// tombstones reads those of the mirror.
	tombstones func(context.Context) ([]postgres.LatestSubscription, error)

	// living tells whether a living Subscription names that parent.
	living func(context.Context, ref.Key) bool

	// forget is told the uid of everybody whom nobody asks for any more.
	forget func(uid string)

	mu   sync.Mutex
	seen []family.Member // In the order of their ends.
}

// note remembers a Subscription that has just gone, if it is still needed, and
// forgets the ancestors that were only needed for it.
func (r *removed) note(ctx context.Context, m family.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.needed(ctx, m.Key) {
		r.seen = append(r.seen, m)
		return
	}
	r.forget(m.UID)
	for parent := m.Parent; !parent.IsZero() && !r.needed(ctx, parent); {
		i := slices.IndexFunc(r.seen, func(t family.Member) bool { return t.Key == parent })
		if i < 0 {
			return
		}
		r.forget(r.seen[i].UID)
		parent = r.seen[i].Parent
		r.seen = slices.Delete(r.seen, i, i+1)
	}
}

func (r *removed) needed(ctx context.Context, k ref.Key) bool {
	return r.living(ctx, k) || slices.ContainsFunc(r.seen, func(t family.Member) bool { return t.Parent == k })
}

// parents are the parents that the removed ones named. Of two that had one name
// the later counts.
func (r *removed) parents(ctx context.Context) map[ref.Key]ref.Key {
	parents := map[ref.Key]ref.Key{}
	for _, row := range r.rows(ctx) {
		if row.ParentName != "" {
			parents[ref.Key{Namespace: row.Namespace, Name: row.Name}] = ref.Key{Namespace: row.ParentNamespace, Name: row.ParentName}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.seen {
		if !t.Parent.IsZero() {
			parents[t.Key] = t.Parent
		}
	}
	return parents
}

// find returns the removed Subscription with that uid, or nil.
func (r *removed) find(ctx context.Context, uid string) *family.Member {
	for _, row := range r.rows(ctx) {
		if row.UID == uid {
			return &family.Member{
				UID: row.UID, Root: row.CompatibilityRoot,
				Key:    ref.Key{Namespace: row.Namespace, Name: row.Name},
				Parent: ref.Key{Namespace: row.ParentNamespace, Name: row.ParentName},
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.seen {
		if t.UID == uid {
			return &t
		}
	}
	return nil
}

// parentUID is that of the parent of a removed Subscription, empty if unknown.
func (r *removed) parentUID(ctx context.Context, uid string) string {
	for _, row := range r.rows(ctx) {
		if row.UID == uid {
			return row.ParentUID
		}
	}
	return ""
}

// rows are the tombstones of the mirror, the latest last.
func (r *removed) rows(ctx context.Context) []postgres.LatestSubscription {
	rows, err := r.tombstones(ctx)
	if err != nil {
		return nil
	}
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b postgres.LatestSubscription) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}
