package gate

import (
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// A Kind is what becomes of a Subscription.
type Kind int

const (
	// Held is one that a gate objects to. If it is active it stays so and is
	// billed.
	Held Kind = iota

	// Billed is one that every gate lets pass.
	Billed

	// Ended is one that ends with this decision.
	Ended

	// Resting is one that ended earlier. Nothing is tested any more and nothing
	// changes.
	Resting

	// WindingDown is one that was deleted, and waits for the last charges.
	WindingDown
)

// NoCollector ends the message of a wind-down that nothing will end
// (BETTER-SUB-11).
const NoCollector = "; no SubscriptionChargeCollection CostJob exists"

const (
	// blocked opens the message of every wind-down.
	blocked = "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges"

	deletedMessage  = "the subscription was deleted"
	replacedMessage = "offering was replaced; recorded terms apply"

	overruledMessage = "the offering's own policy applies, which it does not allow to override"
)

// A Decision is what one look at a Subscription comes to.
type Decision struct {
	Kind Kind

	// Reason and Message say what the first objection is (Held), why it is
	// billed (Billed), or the cause of the end (Ended, WindingDown).
	Reason  Reason
	Message string

	// Waiting is what a wind-down waits for.
	Waiting string

	// What has to be stored with the decision; nil or empty where nothing new
	// was decided. None of it can be taken back.
	ActivatedAt   *time.Time
	DeactivatedAt *time.Time
	Root          string

	// OfferingUID is that of the Offering to be recorded with the Subscription.
	// If it is empty, what was recorded stands.
	OfferingUID string

	// Replaced says that the Offering is another than the one that was sold, and
	// that the terms recorded then go on.
	Replaced bool

	// Loop is the loop of parents that keeps the Subscription from ever being
	// activated.
	Loop []ref.Key

	// Rootless says why an active Subscription belongs to no family.
	Rootless error

	// Retry says what could not be read, if that could have changed the
	// decision.
	Retry error
}

// Final reports whether the decision writes something that cannot be taken back
// because of what was read about other objects. Such a decision is stored only
// if it is the same when everything is read from the server itself. That a
// Subscription was deleted is known from the object, and never changes.
func (d Decision) Final() bool {
	return d.Kind == Ended || d.ActivatedAt != nil || d.Root != ""
}

// Decide says what becomes of a Subscription.
func Decide(in Input) Decision {
	now := in.Now.UTC().Truncate(time.Second)
	switch {
	case in.Self.Deleting:
		return windDown(in, now)
	case in.Self.DeactivatedAt != nil:
		return Decision{Kind: Resting}
	case in.Self.Active():
		return goOn(in, now)
	default:
		return start(in, now)
	}
}

// start tests whether a Subscription can be activated.
func start(in Input, now time.Time) Decision {
	objection, err := Activation.First(in)
	d := Decision{Root: stamp(in), OfferingUID: in.offeringUID()}
	if !objection.Passes() {
		d.Kind, d.Reason, d.Message, d.Retry = Held, objection.Reason, objection.Message, err
		d.Loop = loop(in, objection)
		return d
	}
	d.Kind, d.Reason, d.ActivatedAt = Billed, ActivationSucceeded, &now
	if in.overruled() {
		d.Message = overruledMessage
	}
	return d
}

// goOn tests whether an active Subscription has to end. The three causes are
// tested whatever an earlier gate says, so that an Offering which is not ready
// does not keep a Subscription alive, and billed, for ever (BETTER-SUB-2).
func goOn(in Input, now time.Time) Decision {
	d := Decision{Root: stamp(in), OfferingUID: in.offeringUID(), Replaced: replacement(in)}

	end, unknown := Endings.Any(in)
	if !end.Passes() {
		d.Kind, d.Reason, d.Message, d.DeactivatedAt = Ended, end.Reason, end.Message, in.Self.endAt(now)
		return d
	}
	d.Retry = unknown
	if _, err := in.root(); err != nil {
		d.Rootless, d.Retry = err, err
	}

	objection, err := Activation.First(in)
	if !objection.Passes() {
		d.Kind, d.Reason, d.Message = Held, objection.Reason, objection.Message
		d.Loop = loop(in, objection)
		if err != nil {
			d.Retry = err
		}
		return d
	}

	d.Kind, d.Reason = Billed, ActivationSucceeded
	if orphan, err := orphaned(in); err == nil && orphan {
		d.Reason, d.Message = Orphaned, "parent subscription "+in.Self.Parent.String()+" has ended; the subscription goes on without it"
	}
	if d.Replaced {
		d.Message = replacedMessage
	}
	if in.overruled() {
		d.Message = strings.TrimPrefix(d.Message+"; "+overruledMessage, "; ")
	}
	return d
}

// windDown deactivates what was deleted, whether it was ever activated or not
// (OPEN-SUB-11), unless it ended earlier.
func windDown(in Input, now time.Time) Decision {
	d := Decision{Kind: WindingDown, Reason: MarkedForDeletion, Message: deletedMessage, Waiting: blocked}
	if in.Unserved != nil {
		d.Waiting += in.Unserved.String()
	}
	if in.NoCollector {
		d.Waiting += NoCollector
	}
	if in.Self.DeactivatedAt == nil {
		d.DeactivatedAt = in.Self.endAt(now)
	}
	return d
}

// stamp is the root to be written. A Subscription that waits is stamped when
// its chain of ancestors is complete, which is after the parent gate; an active
// one whenever its root can be found.
func stamp(in Input) string {
	if in.Self.Root != "" {
		return ""
	}
	root, err := in.root()
	if err != nil {
		return ""
	}
	if before, _ := (Chain{offeringReady, parentReady}).First(in); !before.Passes() && !in.Self.Active() {
		return ""
	}
	return root
}

func replacement(in Input) bool {
	current, err := in.Offering.Get()
	if err != nil || current == nil {
		return false
	}
	recorded, err := in.replaced(*current)
	return err == nil && recorded != nil
}

func loop(in Input, objection Verdict) []ref.Key {
	if objection.Reason != ParentSubscriptionNotReady && objection.Reason != CircularDependencyDetected {
		return nil
	}
	return in.ParentLoop
}

// farthestBehind is how far a clock may be behind that of the charge runs. Who
// is farther ahead is not believed: it would be a contract that goes on.
const farthestBehind = 24 * time.Hour

// endAt is when a Subscription ends that ends now. A clock that was set back, or
// is behind that of the charge runs, ends nothing before it began, nor before an
// hour that has been charged for good.
func (s Subscription) endAt(now time.Time) *time.Time {
	end := now
	if s.ChargedTo != nil && s.ChargedTo.After(end) && s.ChargedTo.Sub(now) <= farthestBehind {
		end = s.ChargedTo.UTC()
	}
	if s.ActivatedAt != nil && s.ActivatedAt.After(end) {
		end = *s.ActivatedAt
	}
	return &end
}
