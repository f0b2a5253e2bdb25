package offer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

var errTimeout = errors.New("the server did not answer")

func key(name string) ref.Key { return ref.Key{Namespace: "ns", Name: name} }

func keys(names ...string) []ref.Key {
	list := make([]ref.Key, 0, len(names))
	for _, n := range names {
		list = append(list, key(n))
	}
	return list
}

func offering(name string, requires ...string) Offering {
	return Offering{Key: key(name), Requires: keys(requires...), Ready: true}
}

func unready(o Offering) Offering  { o.Ready = false; return o }
func deleting(o Offering) Offering { o.Deleting = true; return o }

func among(offerings ...Offering) Lookup {
	return func(k ref.Key) (*Offering, error) {
		for _, o := range offerings {
			if o.Key == k {
				return &o, nil
			}
		}
		return nil, nil
	}
}

func down(ref.Key) (*Offering, error) { return nil, errTimeout }

func TestRequirements(t *testing.T) {
	cases := map[string]struct {
		reason string
		self   Offering
		lookup Lookup
		want   Verdict
		err    error
	}{
		"None": {
			reason: "Without requirements nothing is looked up.",
			self:   offering("a"),
			lookup: down,
		},
		"Met": {
			reason: "What is required exists and is ready.",
			self:   offering("a", "b", "c"),
			lookup: among(offering("b", "c"), offering("c")),
		},
		"Itself": {
			reason: "The shortest cycle, found even if the Offering does not exist yet.",
			self:   offering("a", "a"),
			lookup: among(),
			want:   Verdict{CircularDependencyDetected, "circular dependency: ns/a -> ns/a"},
		},
		"Path": {
			reason: "The message carries the path that closes the loop.",
			self:   offering("a", "x", "b"),
			lookup: among(offering("b", "c"), offering("c", "a"), offering("x")),
			want:   Verdict{CircularDependencyDetected, "circular dependency: ns/a -> ns/b -> ns/c -> ns/a"},
		},
		"CycleElsewhere": {
			reason: "A cycle that is only reachable is reported too.",
			self:   offering("a", "b"),
			lookup: among(offering("b", "c"), offering("c", "b")),
			want:   Verdict{CircularDependencyDetected, "circular dependency: ns/a -> ns/b -> ns/c -> ns/b"},
		},
		"Diamond": {
			reason: "Two paths to one Offering are no cycle.",
			self:   offering("a", "b", "c"),
			lookup: among(offering("b", "d"), offering("c", "d"), offering("d")),
		},
		"CycleBeforeMissing": {
			reason: "A cycle is reported before anything else (OPEN-OFF-3).",
			self:   offering("a", "missing", "b"),
			lookup: among(unready(offering("b", "a"))),
			want:   Verdict{CircularDependencyDetected, "circular dependency: ns/a -> ns/b -> ns/a"},
		},
		"MissingBeforeNotReady": {
			reason: "What does not exist is reported before what is not ready (OPEN-OFF-3).",
			self:   offering("a", "b", "missing"),
			lookup: among(unready(offering("b"))),
			want:   Verdict{RequiredOfferingNotFound, "required offering ns/missing does not exist"},
		},
		"FirstMissing": {
			reason: "The first in the order of the list is named.",
			self:   offering("a", "z", "y"),
			lookup: among(),
			want:   Verdict{RequiredOfferingNotFound, "required offering ns/z does not exist"},
		},
		"FirstNotReady": {
			reason: "The first in the order of the list is named.",
			self:   offering("a", "z", "y"),
			lookup: among(unready(offering("y")), unready(offering("z"))),
			want:   Verdict{RequiredOfferingNotReady, "required offering ns/z is not ready"},
		},
		"MissingFurtherOn": {
			reason: "What a requirement lacks shows as that requirement not being ready, not here.",
			self:   offering("a", "b"),
			lookup: among(offering("b", "missing")),
		},
		"Unread": {
			reason: "Could not look is an error.",
			self:   offering("a", "b"),
			lookup: down,
			err:    errTimeout,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := requirements(tc.self, tc.lookup)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nrequirements(...): -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nrequirements(...): -want error +got error:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAcyclicAgainstReachability compares the walk with the definition on
// random graphs: there is a cycle to report exactly if some Offering reachable
// from the first reaches itself.
func TestAcyclicAgainstReachability(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 4))

	for range 3000 {
		n := 1 + rng.IntN(7)
		graph := make([]Offering, 0, n)
		for i := range n {
			o := offering(fmt.Sprint(i))
			for range rng.IntN(3) {
				o.Requires = append(o.Requires, key(fmt.Sprint(rng.IntN(n+1)))) // One of them does not exist.
			}
			graph = append(graph, o)
		}

		v, err := Acyclic(graph[0], among(graph...))
		if err != nil {
			t.Fatal(err)
		}
		if want := reachesACycle(graph); v.Passes() == want {
			t.Fatalf("Acyclic(%v): got %v, want a cycle: %t", graph, v, want)
		}
	}
}

// TestAcyclicDeep walks a chain that is longer than anybody meant, with a loop at
// its end: admission waits for the answer, and a path must not be held once for
// each of its members.
func TestAcyclicDeep(t *testing.T) {
	const length = 20_000
	chain := map[ref.Key]*Offering{}
	for i := range length {
		o := offering(fmt.Sprint(i), fmt.Sprint(i+1), fmt.Sprint(length+i)) // The second is missing.
		chain[o.Key] = &o
	}
	find := func(k ref.Key) (*Offering, error) { return chain[k], nil }

	if v, err := Acyclic(offering("new", "0"), find); err != nil || !v.Passes() {
		t.Errorf("Acyclic(...) of a chain: got %.80v, %v, want no objection", v, err)
	}
	last := offering(fmt.Sprint(length), fmt.Sprint(length-1))
	chain[last.Key] = &last
	v, err := Acyclic(offering("new", "0"), find)
	if err != nil || v.Reason != CircularDependencyDetected {
		t.Errorf("Acyclic(...) of a chain with a loop: got %.80v, %v, want %s", v, err, CircularDependencyDetected)
	}
}

func reachesACycle(graph []Offering) bool {
	reach := map[ref.Key]map[ref.Key]bool{}
	for _, o := range graph {
		reach[o.Key] = map[ref.Key]bool{}
		for _, r := range o.Requires {
			reach[o.Key][r] = true
		}
	}
	for range graph {
		for from := range reach {
			for via := range reach[from] {
				for to := range reach[via] {
					reach[from][to] = true
				}
			}
		}
	}
	first := graph[0].Key
	for k := range reach {
		if reach[k][k] && (k == first || reach[first][k]) {
			return true
		}
	}
	return false
}

func TestDecide(t *testing.T) {
	book := func(cpu string) []pricing.Book {
		return []pricing.Book{{
			Key: ref.Key{Namespace: "finance", Name: "tariff"}, Generation: 2, Active: true, Mode: pricing.Currency, Rates: &pricing.Rates{CPUHour: cpu},
		}}
	}
	metered := pricing.Terms{Offering: key("a"), Items: []pricing.Item{{Meter: pricing.MeterCPUHour}}}
	units := []pricing.UnitPrice{{Meter: pricing.MeterCPUHour, Micros: 25000}}
	const from = "resolved from pricebook finance/tariff generation 2"
	const noBook = "offering ns/a: no active pricebook to resolve metered pricing"

	cases := map[string]struct {
		reason string
		in     Input
		want   Decision
	}{
		"Publish": {
			reason: "The price is published, and its origin said (BETTER-OFF-2).",
			in:     Input{Self: offering("a"), Terms: metered, Books: book("0.025")},
			want:   Decision{Pricing: from, Publish: &pricing.Price{Units: units, Origin: from}},
		},
		"NoBook": {
			reason: "A refusal is the objection on both conditions.",
			in:     Input{Self: offering("a"), Terms: metered},
			want:   Decision{Held: Verdict{NoActivePricebook, noBook}, Pricing: noBook},
		},
		"BooksUnread": {
			reason: "Could not look is no missing book.",
			in:     Input{Self: offering("a"), Terms: metered, BooksErr: errTimeout},
			want:   Decision{Held: Verdict{ValidationError, "the server did not answer"}, Pricing: "the server did not answer", Retry: errTimeout},
		},
		"RequirementsBeforePrice": {
			reason: "The requirement graph is tested before the price (part 30.3).",
			in:     Input{Self: offering("a", "b"), Terms: metered},
			want: Decision{
				Held: Verdict{RequiredOfferingNotFound, "required offering ns/b does not exist"}, Pricing: "required offering ns/b does not exist",
			},
		},
		"StaysPublishedWithoutBook": {
			reason: "An Offering that has resolved never returns to NoActivePricebook.",
			in:     Input{Self: offering("a"), Terms: metered, Published: &Published{Units: units, Message: from}},
			want:   Decision{Pricing: from},
		},
		"Moved": {
			reason: "Charges use newer rates than the published ones (BETTER-OFF-3).",
			in:     Input{Self: offering("a"), Terms: metered, Books: book("0.03"), Published: &Published{Units: units, Message: from}},
			want:   Decision{Pricing: from + " (charges now use newer rates)"},
		},
		"MovedBack": {
			reason: "When the rates are back the note goes.",
			in:     Input{Self: offering("a"), Terms: metered, Books: book("0.025"), Published: &Published{Units: units, Message: from + " (charges now use newer rates)"}},
			want:   Decision{Pricing: from},
		},
		"HeldThoughPublished": {
			reason: "A requirement that is lost holds an Offering whose price stands; the origin is kept.",
			in:     Input{Self: offering("a", "b"), Terms: metered, Published: &Published{Units: units, Message: from}},
			want: Decision{
				Held:    Verdict{RequiredOfferingNotFound, "required offering ns/b does not exist"},
				Pricing: "required offering ns/b does not exist; the published price was " + from,
			},
		},
		"Recovered": {
			reason: "The origin is read back from the message that kept it.",
			in: Input{Self: offering("a"), Terms: metered, Books: book("0.025"), Published: &Published{
				Units: units, Message: "required offering ns/b does not exist; the published price was " + from,
			}},
			want: Decision{Pricing: from},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.Lookup = among()
			if diff := cmp.Diff(tc.want, Decide(tc.in), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nDecide(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDeletable(t *testing.T) {
	bound := func(names ...string) []Subscriber {
		list := make([]Subscriber, 0, len(names))
		for _, n := range names {
			list = append(list, Subscriber{Key: key(n), Offering: key("a")})
		}
		return list
	}

	cases := map[string]struct {
		reason      string
		subscribers []Subscriber
		offerings   []Offering
		want        Verdict
	}{
		"Nobody": {
			reason:      "Others are no dependents.",
			subscribers: []Subscriber{{Key: key("s"), Offering: key("b")}},
			offerings:   []Offering{offering("b", "c")},
		},
		"Subscriptions": {
			reason:      "Every Subscription that still names it counts; they are named in order.",
			subscribers: bound("t", "s"),
			want:        Verdict{DependentSubscriptionsExist, "offering ns/a is still referenced by subscriptions ns/s, ns/t"},
		},
		"Many": {
			reason:      "A message stays short.",
			subscribers: bound("1", "2", "3", "4", "5", "6", "7"),
			want:        Verdict{DependentSubscriptionsExist, "offering ns/a is still referenced by subscriptions ns/1, ns/2, ns/3, ns/4, ns/5 and 2 more"},
		},
		"Offerings": {
			reason:    "Ready or not, an Offering that requires it counts.",
			offerings: []Offering{unready(offering("b", "a"))},
			want:      Verdict{DependentOfferingsExist, "offering ns/a is still required by dependent resources ns/b"},
		},
		"Both": {
			reason:      "Subscriptions are named first (OPEN-OFF-6).",
			subscribers: bound("s"),
			offerings:   []Offering{offering("b", "a")},
			want:        Verdict{DependentSubscriptionsExist, "offering ns/a is still referenced by subscriptions ns/s"},
		},
		"DeletedTogether": {
			reason:    "An Offering that is being deleted holds no other.",
			offerings: []Offering{deleting(offering("b", "a"))},
		},
		"Itself": {
			reason:    "An Offering that requires itself must not hold itself.",
			offerings: []Offering{offering("a", "a")},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Deletable(key("a"), tc.subscribers, tc.offerings)); diff != "" {
				t.Errorf("%s\nDeletable(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
