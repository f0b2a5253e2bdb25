package pricebook

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestNamespaces admits the books of one namespace only (BETTER-SEC-2). A book
// elsewhere wins nothing, loses what it has from before the limit, and says why.
func TestNamespaces(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	r := b.byHand(t)
	outside := b.book(t, b.b, "outside", annotate("true"))
	apitest.Settle(t, r, outside, b.writes, b.stands(outside, winner))

	b.namespaces = []string{b.a}
	b.pass(time.Minute)
	limited := newReconciler(b.mgr, options(b.clock), b.settings(), func(context.Context, *v1alpha1.PriceBook) {})
	nobody := standing{
		ActiveReason:  "Demoted",
		ActiveMessage: "no PriceBook is the active one: books of this namespace take no part in the election" + messageOwnNamespace,
		Ready:         "True", ReadyReason: "ValidationSucceeded", Synced: "True",
	}
	apitest.Settle(t, limited, outside, b.writes, b.stands(outside, nobody))

	inside := b.book(t, b.a, "inside", nil)
	apitest.Settle(t, limited, inside, b.writes, b.stands(inside, winner))
	apitest.Settle(t, limited, outside, b.writes, b.stands(outside, b.lost(outside, inside, "books of this namespace take no part in the election")))
	if got := b.configMap(t).Data[documentKey]; got == "" || inside.Status.ActivePricing["description"] != "Pricebook from: inside" {
		t.Errorf("want the document of the book that was admitted, got %s", got)
	}
	apitest.AssertQuiet(t, limited, outside, b.writes)
	apitest.AssertQuiet(t, limited, inside, b.writes)
}

// TestSeveralAnnotated warns the owner of a book that was annotated in vain: the
// slot does not move, so nothing else would tell.
func TestSeveralAnnotated(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	b.running(t)
	// In the first namespace it wins even if both are created within a second.
	old := b.book(t, b.b, "old", nil)
	b.await(t, old, winner)
	fresh := b.book(t, b.a, "new", annotate("true"))
	b.await(t, fresh, winner)

	b.edit(t, old, annotate("true"))
	b.await(t, old, b.lost(old, fresh, older(old, fresh)))
	b.event(t, old, "SeveralAnnotated")
	b.await(t, fresh, winner)
}

// TestPausedAndDryRun shows what touches nothing of OpenCost: an edit of an
// active book that is paused, and one that the server was only asked about.
func TestPausedAndDryRun(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	r := b.byHand(t)
	book := b.book(t, b.a, "tariff-a", nil)
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
	before, rollout := b.configMap(t), b.rollout(t)
	b.pass(time.Minute)
	untouched := func() {
		t.Helper()
		if after := b.configMap(t); after.ResourceVersion != before.ResourceVersion {
			t.Errorf("the document was written: %v", after)
		}
		if diff := cmp.Diff(rollout, b.rollout(t)); diff != "" {
			t.Errorf("OpenCost was restarted: -want, +got:\n%s", diff)
		}
	}

	tried := book.DeepCopy()
	tried.Spec.Rates.CPUHour = "9"
	if err := b.c.Update(t.Context(), tried, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	apitest.AssertQuiet(t, r, book, b.writes)
	untouched()

	b.edit(t, book, func(p *v1alpha1.PriceBook) {
		p.Annotations = map[string]string{"crossplane.io/paused": "true"}
		p.Spec.Rates.CPUHour = "1.80"
	})
	apitest.Settle(t, r, book, b.writes, func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(book), book); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(book.Status.Conditions, v1alpha1.TypeSynced); c == nil || c.Reason != "ReconcilePaused" {
			return fmt.Errorf("it is not paused yet: %+v", c)
		}
		return nil
	})
	untouched()
	if !book.Status.Active || book.Status.ActivePricing["CPU"] != "0.025" {
		t.Errorf("want the paused book to stay as it was, got %+v", book.Status)
	}

	b.edit(t, book, func(p *v1alpha1.PriceBook) { p.Annotations = nil })
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
	if got := book.Status.ActivePricing["CPU"]; got != "1.80" {
		t.Errorf("want the edit to arrive when the pause is over, got %s", got)
	}
}

// TestLastGoodDocument switches to books that OpenCost cannot be told: the
// document of the book before stays, and nothing restarts.
func TestLastGoodDocument(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.PriceBook)
		ready  string
		active string
	}{
		"Percent": {
			reason: "Weights are not money, and the book can still win (OPEN-PB-9).",
			change: func(p *v1alpha1.PriceBook) { p.Spec.ValuationMode = v1alpha1.ValuationModePercent },
			ready:  "the rates can be read",
			active: "valuationMode percent is not rendered",
		},
		"PercentWithoutRates": {
			reason: "Only money needs rates.",
			change: func(p *v1alpha1.PriceBook) {
				p.Spec.ValuationMode, p.Spec.Rates = v1alpha1.ValuationModePercent, nil
			},
			ready:  "the rates can be read",
			active: "valuationMode percent is not rendered",
		},
		"NoRates": {
			reason: "An absent block is not an empty one (BETTER-PB-5).",
			change: func(p *v1alpha1.PriceBook) { p.Spec.Rates = nil },
			ready:  "rates must be set when valuationMode is currency",
			active: messageUnready,
		},
		"TooLarge": {
			reason: "There is no failover: what wins unready stays active (part 20.8).",
			change: func(p *v1alpha1.PriceBook) { p.Spec.Rates.SpotCPUHour = "10000000000000" },
			ready:  `rate "spotCPUHour" ("10000000000000"): larger than 9223372036854.775807`,
			active: messageUnready,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.deployment(t)
			r := b.byHand(t)
			good := b.book(t, b.a, "tariff-a", nil)
			apitest.Settle(t, r, good, b.writes, b.stands(good, winner))
			before, rollout := b.configMap(t), b.rollout(t)
			b.pass(time.Minute)

			bad := b.book(t, b.b, "bad", func(p *v1alpha1.PriceBook) {
				annotate("true")(p)
				tc.change(p)
			})
			apitest.Settle(t, r, bad, b.writes, func(ctx context.Context) error {
				if err := b.c.Get(ctx, client.ObjectKeyFromObject(bad), bad); err != nil {
					return err
				}
				got := []string{message(bad, v1alpha1.TypeReady), message(bad, v1alpha1.TypeActive)}
				if diff := cmp.Diff([]string{tc.ready, tc.active}, got); diff != "" {
					return fmt.Errorf("messages: -want, +got:\n%s", diff)
				}
				return nil
			})
			if !bad.Status.Active || len(bad.Status.ActivePricing) > 0 {
				t.Errorf("\n%s\nwant it to be active and to show no pricing, got %+v", tc.reason, bad.Status)
			}
			if after := b.configMap(t); after.ResourceVersion != before.ResourceVersion {
				t.Errorf("\n%s\nthe document was written: %v", tc.reason, after.Data)
			}
			if diff := cmp.Diff(rollout, b.rollout(t)); diff != "" {
				t.Errorf("\n%s\nOpenCost was restarted: -want, +got:\n%s", tc.reason, diff)
			}
			apitest.AssertQuiet(t, r, bad, b.writes)
		})
	}
}
