package subscription

import (
	"context"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

const (
	// settleTimeout bounds one attempt. There may be months to catch up with.
	settleTimeout = 10 * time.Minute

	// settleAgain is when somebody who was held is tried again: an hour that was
	// not measured yet may be by then.
	settleAgain = 10 * time.Minute
)

// A Settler settles the charges of one deleted Subscription and lets it go, as a
// charge run does.
type Settler interface {
	// Settle returns what holds the Subscription, zero if nothing does any more.
	Settle(ctx context.Context, key types.NamespacedName, uid types.UID) (charge.Hold, error)
}

// builtin settles deleted Subscriptions where nobody else does (BETTER-SUB-11): one
// after the other, and apart from the reconciles, which only say when. A nil
// builtin is one that is switched off.
//
// How long somebody has been waiting is kept in the message of Deleting, so that a
// restart does not begin anew.
type builtin struct {
	settler Settler
	after   time.Duration
	cache   client.Reader
	clock   clock.PassiveClock
	log     logging.Logger

	// atMost is how long time passes unseen: business time may be moved.
	atMost time.Duration

	waiting workqueue.TypedDelayingInterface[types.NamespacedName]

	mu       sync.Mutex
	attempts map[types.NamespacedName]attempt
	look     queue // Of the controller; nil until it has started.
}

// An attempt is the last one at a Subscription.
type attempt struct {
	uid  types.UID
	next time.Time
	held string
}

// newBuiltin returns what settles by itself, nil if it is not to.
func newBuiltin(mgr ctrl.Manager, o frame.Options, s Settings) (*builtin, error) {
	if s.Settler == nil || s.BuiltinReleaseAfter <= 0 {
		return nil, nil //nolint:nilnil // A nil builtin is one that is switched off.
	}
	b := &builtin{
		settler: s.Settler, after: s.BuiltinReleaseAfter, cache: mgr.GetClient(), clock: o.Clock, log: o.Logger.WithValues("controller", Name),
		atMost: o.Poll, waiting: workqueue.NewTypedDelayingQueue[types.NamespacedName](), attempts: map[types.NamespacedName]attempt{},
	}
	return b, mgr.Add(b)
}

// NeedLeaderElection is true: one is enough. Should two be at it, the lock of the
// charge runs keeps them apart.
func (b *builtin) NeedLeaderElection() bool { return true }

// Start settles until its context ends.
func (b *builtin) Start(ctx context.Context) error {
	defer context.AfterFunc(ctx, b.waiting.ShutDown)()
	for {
		key, over := b.waiting.Get()
		if over || ctx.Err() != nil {
			return nil // Who is still in line is looked at by whoever leads next.
		}
		if wait := b.serve(ctx, key); wait > 0 {
			b.waiting.AddAfter(key, min(wait, b.atMost))
		}
		b.waiting.Done(key)
	}
}

// serve settles a Subscription if its time has come, and returns how long to wait
// until it is looked at again; zero if only an event can change anything.
func (b *builtin) serve(ctx context.Context, key types.NamespacedName) time.Duration {
	s := &v1alpha1.Subscription{}
	if err := b.cache.Get(ctx, key, s); err != nil || s.DeletionTimestamp == nil || !controllerutil.ContainsFinalizer(s, v1alpha1.SubscriptionFinalizer) {
		b.forget(key)
		return 0
	}
	u := b.unserved(ctx, s, noCollector(ctx, b.cache))
	if u == nil {
		b.forget(key)
		return 0
	}
	due := u.From
	if last := b.last(s); last.next.After(due) {
		due = last.next
	}
	if wait := due.Sub(b.clock.Now()); wait > 0 {
		return wait
	}

	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	hold, err := b.settler.Settle(ctx, key, s.UID)
	done := attempt{uid: s.UID, next: b.clock.Now().Add(settleAgain), held: hold.Reason}
	if err != nil {
		b.log.Info("cannot settle a Subscription", "subscription", key, "error", err.Error())
		done.held = "the last attempt failed: " + err.Error()
	}
	b.note(key, done)
	return settleAgain
}

// unserved is what becomes of a deleted Subscription, nil if nothing does by itself.
func (b *builtin) unserved(ctx context.Context, s *v1alpha1.Subscription, noCollector bool) *gate.Unserved {
	if b == nil || !noCollector {
		return nil
	}
	now := b.clock.Now().UTC().Truncate(time.Second)
	u := &gate.Unserved{Since: now, Held: b.last(s).held}
	if said := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.TypeDeleting); said != nil {
		if since, ok := gate.UnservedSince(said.Message); ok {
			u.Since = since
		}
	}
	u.From = u.Since.Add(b.after)
	if s.Status.ActivatedAt == nil {
		return u
	}

	// What a charge run would wait for is known in advance, but for the
	// measurements.
	ended := now
	if at := s.Status.DeactivatedAt; at != nil {
		ended = at.Time
	}
	if closed := hour.Of(ended).Add(hour.Length); closed.After(u.From) {
		u.From = closed
	}
	if served, asked := minPeriodsEnd(ctx, b.cache, s); asked && served.After(u.From) {
		u.From = served
	}
	return u
}

// consider has a Subscription settled when its time comes.
func (b *builtin) consider(s *v1alpha1.Subscription) {
	if b != nil && s.DeletionTimestamp != nil {
		b.waiting.Add(client.ObjectKeyFromObject(s))
	}
}

func (b *builtin) last(s *v1alpha1.Subscription) attempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.attempts[client.ObjectKeyFromObject(s)]; a.uid == s.UID {
		return a
	}
	return attempt{}
}

// forget drops the attempts at somebody who is gone, or whom a collector serves.
func (b *builtin) forget(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.attempts, key)
}

// note remembers an attempt, and has the Subscription say what came of it.
func (b *builtin) note(key types.NamespacedName, a attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.attempts[key].held == a.held
	b.attempts[key] = a
	if !told && b.look != nil {
		b.look.Add(reconcile.Request{NamespacedName: key})
	}
}

// tells is the source of those who have something new to say.
func (b *builtin) tells() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		if b != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.look = q
		}
		return nil
	})
}
