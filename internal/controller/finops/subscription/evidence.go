package subscription

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

const (
	// pageSize bounds one answer of the API server.
	pageSize = 500

	// familiesAtHand bounds how many lists are kept. A family whose list is
	// dropped is listed again.
	familiesAtHand = 32
)

// evidence lists families from the server, for those that may have to end for
// what is missing in one.
//
// A list may serve every member that is decided by it, as long as it was made
// after the events that led there (design R2): not before the last provider of
// what is required has ended, and not before the last member of the family was
// activated. Otherwise the end of one provider would have each of a thousand
// members list all of them.
type evidence struct {
	live client.Reader

	// latest is the newest version of a Subscription that the cache has shown. What
	// the server lists is never older, unless its store was restored from an earlier
	// copy: such a list proves nothing.
	latest atomic.Uint64

	mu       sync.Mutex
	families *lru.Cache // Root → *listed.
}

func newEvidence(live client.Reader) *evidence {
	return &evidence{live: live, families: lru.New(familiesAtHand)}
}

// A listed family is what the server said at one version.
type listed struct {
	// Versions of the events that came since the list was first asked for: of
	// the last activation, and of the last end by Offering. The evidence's lock
	// guards them.
	gained uint64
	lost   map[ref.Key]uint64

	mu      sync.Mutex // Held while listing, so that whoever waits shares the answer.
	version uint64
	members []family.Member

	// kin is the family of the members, and of gone, the parents of those who are
	// gone. To make it for each of a thousand members would cost a million steps.
	kin  family.Family
	gone map[ref.Key]ref.Key
}

// saw remembers how new the cache is.
func (e *evidence) saw(o client.Object) {
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return // There is nothing to compare.
	}
	for latest := e.latest.Load(); version > latest && !e.latest.CompareAndSwap(latest, version); {
		latest = e.latest.Load()
	}
}

// note remembers that the cache has seen a member be activated, or be lost to
// those it covers. Where there is no list at hand there is nothing to remember:
// the next list is made after this.
func (e *evidence) note(s *v1alpha1.Subscription, lost bool) {
	m := member(s)
	e.mu.Lock()
	defer e.mu.Unlock()
	f, ok := e.atHand(m.Root)
	if !ok {
		return
	}
	version, err := strconv.ParseUint(s.ResourceVersion, 10, 64)
	switch {
	case err != nil:
		e.families.Remove(m.Root) // There is nothing to compare.
	case lost:
		f.lost[m.Offering] = max(f.lost[m.Offering], version)
	default:
		f.gained = max(f.gained, version)
	}
}

// forget drops the list at hand of a family.
func (e *evidence) forget(root string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.families.Remove(root)
}

// kin returns a family as the server lists it, from the list at hand if that is
// late enough for those who require the Offerings.
func (e *evidence) kin(ctx context.Context, root string, required []ref.Key, gone map[ref.Key]ref.Key) (family.Family, error) {
	f, since := e.family(root, required)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members != nil && f.version >= since {
		if !maps.Equal(f.gone, gone) {
			f.kin, f.gone = family.New(root, f.members, gone), gone
		}
		return f.kin, nil
	}

	since = max(since, e.latest.Load())
	members, version, err := pages(ctx, e.live, client.MatchingFields{index.SubscriptionsByRoot: root})
	if kerrors.IsBadRequest(err) {
		// This server does not select by root, so it lists everybody.
		members, version, err = pages(ctx, e.live)
	}
	if err != nil {
		return family.Family{}, err
	}
	if version < since {
		return family.Family{}, errors.Errorf("the list of version %d is older than %d, which was seen before", version, since)
	}
	f.members, f.version = members, version
	f.kin, f.gone = family.New(root, members, gone), gone
	return f.kin, nil
}

// family returns the list at hand, empty if there is none, and the version that
// it must not be older than.
func (e *evidence) family(root string, required []ref.Key) (*listed, uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, ok := e.atHand(root)
	if !ok {
		f = &listed{lost: map[ref.Key]uint64{}}
		e.families.Add(root, f)
	}
	since := f.gained
	for _, offering := range required {
		since = max(since, f.lost[offering])
	}
	return f, since
}

func (e *evidence) atHand(root string) (*listed, bool) {
	known, ok := e.families.Get(root)
	if !ok {
		return nil, false
	}
	f, ok := known.(*listed)
	return f, ok
}

// pages lists in pages, all of one version.
func pages(ctx context.Context, from client.Reader, which ...client.ListOption) (members []family.Member, version uint64, err error) {
	members = []family.Member{}
	for next := ""; ; {
		l := &v1alpha1.SubscriptionList{}
		if err := from.List(ctx, l, append(which, client.Limit(pageSize), client.Continue(next))...); err != nil {
			return nil, 0, err
		}
		members = append(members, membersOf(l)...)
		if next = l.Continue; next == "" {
			// A version that is no number serves nobody else.
			version, _ = strconv.ParseUint(l.ResourceVersion, 10, 64)
			return members, version, nil
		}
	}
}
