package subscription

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// parentOf finds parents by name.
func parentOf(ctx context.Context, from client.Reader) family.ParentOf {
	return func(child family.Member) (*family.Member, error) {
		p := &v1alpha1.Subscription{}
		ok, err := get(ctx, from, "parent", child.Parent, p)
		if err != nil || !ok {
			return nil, err
		}
		m := member(p)
		return &m, nil
	}
}

// parentLoop looks for a loop above a Subscription that waits for its parent. A
// loop that ran through an active Subscription would have kept it from ever
// becoming so.
func parentLoop(ctx context.Context, from client.Reader, in gate.Input) []ref.Key {
	if parent, err := in.Parent.Get(); err != nil || parent == nil || parent.Ready || in.Self.Active() {
		return nil
	}
	return family.Loop(in.Self.Member(), parentOf(ctx, from))
}

// readRoot finds the root of a Subscription that is not stamped yet. For one
// that waits, every ancestor has to be there. One that has been active since
// before there were stamps may have lost ancestors: those are found in the
// mirror, by the uid that was recorded of them, never by name alone
// (BETTER-SUB-4).
func (e *external) readRoot(ctx context.Context, from client.Reader, self gate.Subscription) gate.Read[string] {
	up := parentOf(ctx, from)
	if self.Active() {
		up = e.recordedParentOf(ctx, up)
	}
	root, err := family.Root(self.Member(), up)
	if err != nil {
		return gate.Failed[string](err)
	}
	return gate.Found(root)
}

// recordedParentOf finds the parent that was recorded, alive or removed. Where
// nothing was recorded the living one of that name is taken.
func (e *external) recordedParentOf(ctx context.Context, byName family.ParentOf) family.ParentOf {
	return func(child family.Member) (*family.Member, error) {
		living, err := byName(child)
		if err != nil {
			return nil, err
		}
		uid := e.recordedParentUID(ctx, child.UID)
		if living != nil && (uid == "" || uid == living.UID) {
			return living, nil
		}
		return e.removed.find(ctx, uid), nil
	}
}

// recordedParentUID is that of the parent under which a Subscription was
// recorded, empty if nothing was, or if the mirror cannot be asked.
func (e *external) recordedParentUID(ctx context.Context, uid string) string {
	if stored, ok, err := e.mirror.Subscription(ctx, uid); err == nil && ok {
		return stored.ParentUID
	}
	return e.removed.parentUID(ctx, uid)
}
