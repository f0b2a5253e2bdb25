package pricebook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/objects"
)

const (
	// ConfigMapName is where OpenCost takes its prices from.
	ConfigMapName = "finops-operator-custom-pricing-configs"

	// documentKey is the file in it.
	documentKey = "default.json"
)

// A push is what OpenCost is told and what is missing for that.
type push struct {
	document map[string]string // Nil if it is told nothing.
	stored   *corev1.ConfigMap // Nil if there is none.

	write   bool // The stored document is another one.
	restart bool // OpenCost has not been restarted on the stored one.
}

// settled says that OpenCost runs on the document, or is told nothing.
func (p push) settled() bool { return !p.write && !p.restart }

// compare renders a book and holds it against what is stored.
func (e *external) compare(ctx context.Context, b *v1alpha1.PriceBook) (push, error) {
	cm, err := e.document(ctx)
	if err != nil {
		return push{}, err
	}

	p := push{document: pricing.Document(b.Name, *objects.Book(b).Rates), stored: cm}
	p.write = cm == nil || !pricing.SameDocument(cm.Data[documentKey], p.document)
	if cm != nil {
		_, p.restart = cm.Annotations[opencost.AnnotationRestartPending]
	}

	return p, nil
}

// confirm asks the server whether the book still is what OpenCost is to be told
// of. A controller that has been suspended may see the cluster of a while ago, in
// which this book was the active one. The document has been read before, so if
// another book's comes between, the write of this one fails on its version.
func (e *external) confirm(ctx context.Context, b *v1alpha1.PriceBook) error {
	now := &v1alpha1.PriceBook{}
	if err := e.live.Get(ctx, client.ObjectKeyFromObject(b), now); err != nil {
		return errors.Wrapf(err, "cannot read price book %q", key(b))
	}
	if now.UID != b.UID || now.Generation != b.Generation || !now.Status.Active {
		return errOvertaken
	}

	return nil
}

// done is the push after all of it has happened.
func (p push) done() push { return push{document: p.document, stored: p.stored} }

// carryOut stores the document and restarts OpenCost, or returns after how long
// OpenCost may be restarted again. The mark that a restart is due is stored with
// the document and removed only after the restart, so whatever fails in between
// is made up for by the next reconcile (BETTER-PB-3).
func (e *external) carryOut(ctx context.Context, b *v1alpha1.PriceBook, p push) (wait time.Duration, err error) {
	if p.settled() {
		return 0, nil
	}
	cm := p.stored
	if p.write {
		if cm, err = e.store(ctx, p); err != nil {
			return 0, err
		}
	}
	switch wait, err := e.settings.OpenCost.Restart(ctx, e.client, e.live, e.clock.Now()); {
	case err != nil:
		if !told(b, err) {
			e.record.Event(b, restartFailed(err))
		}
		return 0, err
	case wait > 0:
		return wait, nil
	}
	e.record.Event(b, restarted(e.settings.OpenCost))

	return 0, errors.Wrapf(e.note(ctx, cm), "cannot note the restart of OpenCost on ConfigMap %q", client.ObjectKeyFromObject(cm).String())
}

// told says whether the book carries the error already: it is tried again and
// again, and one event is enough.
func told(b *v1alpha1.PriceBook, err error) bool {
	c := apimeta.FindStatusCondition(b.Status.Conditions, v1alpha1.TypeSynced)

	return c != nil && c.Status == metav1.ConditionFalse && strings.HasSuffix(c.Message, err.Error())
}

// note removes the mark that a restart is due, if it is still about the document
// that OpenCost was restarted on: another may have been written since.
func (e *external) note(ctx context.Context, cm *corev1.ConfigMap) error {
	on := cm.Annotations[opencost.AnnotationRestartPending]

	return objects.RetryOnConflict(func() error {
		before := cm.DeepCopy()
		meta.RemoveAnnotations(cm, opencost.AnnotationRestartPending)
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := e.client.Patch(ctx, cm, patch, client.FieldOwner(frame.FieldManager))
		if !kerrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
		now, unread := e.document(ctx)
		switch {
		case unread != nil:
			return unread
		case now == nil || now.Annotations[opencost.AnnotationRestartPending] != on:
			return nil
		}
		cm = now

		return err
	})
}

// store creates or patches the ConfigMap. Keys of others stay.
func (e *external) store(ctx context.Context, p push) (*corev1.ConfigMap, error) {
	text, err := pricing.EncodeDocument(p.document)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(text))
	pending := map[string]string{opencost.AnnotationRestartPending: hex.EncodeToString(sum[:])}

	if p.stored == nil {
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.settings.OpenCost.Namespace, Name: ConfigMapName, Annotations: pending},
			Data:       map[string]string{documentKey: text},
		}

		return cm, errors.Wrapf(e.client.Create(ctx, cm, client.FieldOwner(frame.FieldManager)),
			"cannot create the pricing document, ConfigMap %q", client.ObjectKeyFromObject(cm).String())
	}

	cm := p.stored.DeepCopy()
	meta.AddAnnotations(cm, pending)
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	cm.Data[documentKey] = text

	// A document that was rendered long ago, by a controller that has been
	// replaced since, must not come on top of a newer one.
	patch := client.MergeFromWithOptions(p.stored, client.MergeFromWithOptimisticLock{})

	return cm, errors.Wrapf(e.client.Patch(ctx, cm, patch, client.FieldOwner(frame.FieldManager)),
		"cannot write the pricing document, ConfigMap %q", client.ObjectKeyFromObject(cm).String())
}
