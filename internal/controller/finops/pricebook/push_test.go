package pricebook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// document is the example of part 20.4, byte by byte.
const document = `{
  "CPU": "0.025",
  "GPU": "0",
  "RAM": "0.0035",
  "description": "Pricebook from: tariff-a",
  "internetNetworkEgress": "0",
  "provider": "custom",
  "regionNetworkEgress": "0",
  "spotCPU": "0",
  "spotRAM": "0",
  "storage": "0",
  "zoneNetworkEgress": "0"
}
`

var rolledOut = map[string]string{"kept": "yes", "finops.stakater.com/restartedAt": restartedAt}

// TestPush follows the prices of a book into OpenCost.
func TestPush(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	r := b.byHand(t)
	book := b.book(t, b.a, "tariff-a", nil)
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))

	cm := b.configMap(t)
	if diff := cmp.Diff(map[string]string{"default.json": document}, cm.Data); diff != "" {
		t.Errorf("data: -want, +got:\n%s", diff)
	}
	if len(cm.Annotations) > 0 {
		t.Errorf("want no restart to be pending, got %v", cm.Annotations)
	}
	if diff := cmp.Diff(rolledOut, b.rollout(t)); diff != "" {
		t.Errorf("pod template: -want, +got:\n%s", diff)
	}
	want := map[string]string{
		"CPU": "0.025", "GPU": "0", "RAM": "0.0035", "description": "Pricebook from: tariff-a", "internetNetworkEgress": "0", "provider": "custom",
		"regionNetworkEgress": "0", "spotCPU": "0", "spotRAM": "0", "storage": "0", "zoneNetworkEgress": "0",
	}
	if diff := cmp.Diff(want, book.Status.ActivePricing); diff != "" {
		t.Errorf("activePricing: -want, +got:\n%s", diff)
	}
	b.event(t, book, "OpenCostRestarted")
	apitest.AssertQuiet(t, r, book, b.writes)

	// Another rate, beside something that somebody else keeps there.
	cm.Data["other.json"] = "{}"
	cm.Labels = map[string]string{"theirs": ""}
	if err := b.c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Minute)
	b.edit(t, book, func(p *v1alpha1.PriceBook) { p.Spec.Rates.CPUHour = "1.80" })
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
	cm = b.configMap(t)
	wantData := map[string]string{"default.json": strings.Replace(document, "0.025", "1.80", 1), "other.json": "{}"}
	if diff := cmp.Diff(wantData, cm.Data); diff != "" {
		t.Errorf("data after the edit: -want, +got:\n%s", diff)
	}
	if _, ok := cm.Labels["theirs"]; !ok {
		t.Error("a label of somebody else was dropped")
	}
}

// TestSameDocument shows that a document which says the same in another form
// costs neither a write nor a restart (OPEN-PB-5), and neither does a Deployment
// that was recreated.
func TestSameDocument(t *testing.T) {
	b := newBench(t)
	r := b.byHand(t)
	b.deployment(t)
	book := b.book(t, b.a, "tariff-a", nil)
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))

	cm := b.configMap(t)
	cm.Data["default.json"] = strings.ReplaceAll(strings.ReplaceAll(document, "\n", ""), "  ", "")
	if err := b.c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	apitest.AssertQuiet(t, r, book, b.writes)
}

// TestFailedRestart shows that a restart which fails is told and made up for
// (BETTER-PB-3).
func TestFailedRestart(t *testing.T) {
	b := newBench(t)
	r := b.byHand(t)
	book := b.book(t, b.a, "tariff-a", nil)
	failed := winner
	failed.Synced, failed.Priced, failed.ActiveMessage = "False", false, messageRestartDue

	apitest.Eventually(t, "the failure", func(ctx context.Context) error {
		if _, err := r.Reconcile(ctx, requestFor(book)); err != nil {
			return err
		}
		return b.stands(book, failed)(ctx)
	})
	wantMessage := fmt.Sprintf(`cannot restart OpenCost, Deployment "%s/opencost": deployments.apps "opencost" not found`, b.opencost.Namespace)
	if got := message(book, v1alpha1.TypeSynced); !strings.HasSuffix(got, wantMessage) {
		t.Errorf("want a message that ends in %q, got %q", wantMessage, got)
	}
	b.event(t, book, "OpenCostRestartFailed")
	cm := b.configMap(t)
	if cm.Data["default.json"] != document {
		t.Errorf("want the document to stand, got %q", cm.Data["default.json"])
	}
	if len(cm.Annotations["finops.stakater.com/restart-pending"]) != 64 {
		t.Errorf("want the hash of the document to be pending, got %v", cm.Annotations)
	}

	b.deployment(t)
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
	if diff := cmp.Diff(rolledOut, b.rollout(t)); diff != "" {
		t.Errorf("pod template: -want, +got:\n%s", diff)
	}
	if cm := b.configMap(t); len(cm.Annotations) > 0 {
		t.Errorf("want no restart to be pending any more, got %v", cm.Annotations)
	}
	apitest.AssertQuiet(t, r, book, b.writes)
}

// TestNotPushed lists the active books that OpenCost is not told of, after one
// that it was told of: its document stays, and nothing restarts.
func TestNotPushed(t *testing.T) {
	unready := standing{Active: true, ActiveReason: "Activated", ActiveMessage: messageUnready, Ready: "False", ReadyReason: "PricebookParseFailed", Synced: "True"}
	percent := standing{Active: true, ActiveReason: "Activated", ActiveMessage: "valuationMode percent is not rendered", Ready: "True", ReadyReason: "ValidationSucceeded", Synced: "True"}

	cases := map[string]struct {
		reason  string
		edit    func(*v1alpha1.PriceBook)
		want    standing
		message string
	}{
		"RateTooLarge": {
			reason:  "A rate that is no number of micros makes the book unready, and it stays active (part 20.8).",
			edit:    func(p *v1alpha1.PriceBook) { p.Spec.Rates.GPUHour = "9223372036854.775808" },
			want:    unready,
			message: `rate "gpuHour" ("9223372036854.775808"): larger than 9223372036854.775807`,
		},
		"NoRates": {
			reason:  "An active book without rates is invalid (BETTER-PB-5).",
			edit:    func(p *v1alpha1.PriceBook) { p.Spec.Rates = nil },
			want:    unready,
			message: "rates must be set when valuationMode is currency",
		},
		"Percent": {
			reason:  "Weights are not money (OPEN-PB-9).",
			edit:    func(p *v1alpha1.PriceBook) { p.Spec.ValuationMode = v1alpha1.ValuationModePercent },
			want:    percent,
			message: "the rates can be read",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.deployment(t)
			r := b.byHand(t)
			book := b.book(t, b.a, "tariff-a", nil)
			apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
			before := b.configMap(t)

			b.edit(t, book, tc.edit)
			apitest.Settle(t, r, book, b.writes, b.stands(book, tc.want))
			if got := message(book, v1alpha1.TypeReady); got != tc.message {
				t.Errorf("\n%s\nmessage of Ready: want %q, got %q", tc.reason, tc.message, got)
			}
			if after := b.configMap(t); after.ResourceVersion != before.ResourceVersion {
				t.Errorf("\n%s\nthe document was written: %v", tc.reason, after.Data)
			}
			if tc.want.Ready == "False" {
				b.event(t, book, "ParseFailed")
			}
			apitest.AssertQuiet(t, r, book, b.writes)
		})
	}
}

// TestValidation shows what a ready book says of its rates.
func TestValidation(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	r := b.byHand(t)
	book := b.book(t, b.a, "tariff-a", func(p *v1alpha1.PriceBook) { p.Spec.Rates.PVGbHour = "0.0000004" })
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
	want := `rate "pvGbHour" ("0.0000004") rounded to 0 micros`
	if got := message(book, v1alpha1.TypeReady); got != want {
		t.Errorf("OPEN-PB-7: want %q, got %q", want, got)
	}

	b.pass(time.Minute)
	b.edit(t, book, func(p *v1alpha1.PriceBook) { p.Spec.Rates = &v1alpha1.PriceRates{} })
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
	if got := book.Status.ActivePricing["CPU"]; got != "0" {
		t.Errorf("want an empty block to price everything at zero, got %q", got)
	}
}

// TestDocumentComesBack shows that a document which somebody deletes is written
// again without waiting for a resync.
func TestDocumentComesBack(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	b.running(t)
	b.await(t, b.book(t, b.a, "tariff-a", nil), winner)
	if err := b.c.Delete(t.Context(), b.configMap(t)); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the document once more", func(ctx context.Context) error {
		cm := b.configMapOrNil(ctx)
		if cm == nil || cm.Data["default.json"] != document {
			return fmt.Errorf("not yet")
		}
		return nil
	})

	apitest.Eventually(t, "an edit", func(ctx context.Context) error {
		cm := b.configMapOrNil(ctx)
		if cm == nil {
			return fmt.Errorf("there is none")
		}
		cm.Data["default.json"] = "{}"
		return b.c.Update(ctx, cm)
	})
	apitest.Eventually(t, "the document instead of another", func(ctx context.Context) error {
		if cm := b.configMapOrNil(ctx); cm == nil || cm.Data["default.json"] != document {
			return fmt.Errorf("not yet")
		}
		return nil
	})
}
