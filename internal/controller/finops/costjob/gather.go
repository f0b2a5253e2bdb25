package costjob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/schedule"
)

// maxCronJobName is what Kubernetes allows, so that the names of Jobs fit.
const maxCronJobName = 52

// annotationApplied on a CronJob says what was written last: the generation
// that came of it and a hash of what was sent. The API server fills in defaults
// and admission may change more, so what is stored cannot be compared with what
// was sent. But every change to a spec raises its generation: while both parts
// fit, nobody has touched it and nothing else is wanted.
const annotationApplied = "finops.stakater.com/applied"

// A plan is what the CostJob lacks.
type plan struct {
	wanted  *batchv1.CronJob
	hash    string
	cronJob *batchv1.CronJob // As it stands, nil if there is none.

	secret      *corev1.Secret // As wanted.
	writeSecret secretWrite

	// effective is the schedule to show on a CostJob whose interval is none of
	// the known ones, empty otherwise.
	effective string
}

// A secretWrite is what has to be done about the Secret.
type secretWrite int

const (
	secretFits secretWrite = iota
	secretCreate
	secretUpdate
)

// gather reads what stands and computes what is wanted.
func (e *external) gather(ctx context.Context, j *v1alpha1.CostJob) (plan, error) {
	if len(cronJobName(j)) > maxCronJobName {
		return plan{}, &refusal{reasonNameTooLong, "a CronJob name has at most " + strconv.Itoa(maxCronJobName) + " characters, and " +
			strconv.Quote(cronJobName(j)) + " has " + strconv.Itoa(len(cronJobName(j)))}
	}
	if e.settings.Image == "" {
		return plan{}, &refusal{reasonImageMissing, "the controller does not know the image of the pods: set OPERATOR_IMAGE"}
	}

	p := plan{}
	var err error
	if p.wanted, err = e.settings.cronJob(j); err != nil {
		return plan{}, err
	}
	if err := controllerutil.SetControllerReference(j, p.wanted, e.client.Scheme()); err != nil {
		return plan{}, errors.Wrap(err, "cannot make the CostJob own its CronJob")
	}
	if p.hash, err = hash(p.wanted); err != nil {
		return plan{}, err
	}
	if spec, ok := schedule.Of(j.Spec.Interval.Duration); !ok {
		p.effective = spec
	}

	if p.cronJob, err = e.readCronJob(ctx, j); err != nil {
		return plan{}, err
	}
	if err := e.readSecret(ctx, j, &p); err != nil {
		return plan{}, err
	}

	return p, nil
}

// readCronJob reads from the server: one that misses our own last write would
// make us write again.
func (e *external) readCronJob(ctx context.Context, j *v1alpha1.CostJob) (*batchv1.CronJob, error) {
	c := &batchv1.CronJob{}
	key := client.ObjectKey{Namespace: j.Namespace, Name: cronJobName(j)}
	switch err := e.live.Get(ctx, key, c); {
	case kerrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // No CronJob is an answer.
	case err != nil:
		return nil, errors.Wrapf(err, "cannot read CronJob %q", key.String())
	case !metav1.IsControlledBy(c, j):
		return nil, &refusal{reasonNameConflict, "CronJob " + strconv.Quote(c.Name) + " belongs to somebody else"}
	}

	return c, nil
}

// readSecret reads the Secret from the server: a cache would hold all Secrets of
// the cluster. One that is not the CostJob's is used as it is: that is how
// somebody gives the pods other credentials (BETTER-SEC-5).
func (e *external) readSecret(ctx context.Context, j *v1alpha1.CostJob, p *plan) error {
	p.secret = e.settings.secret(j)
	if err := controllerutil.SetControllerReference(j, p.secret, e.client.Scheme()); err != nil {
		return errors.Wrap(err, "cannot make the CostJob own its Secret")
	}

	s := &corev1.Secret{}
	switch err := e.live.Get(ctx, client.ObjectKeyFromObject(p.secret), s); {
	case kerrors.IsNotFound(err):
		p.writeSecret = secretCreate
	case err != nil:
		return errors.Wrapf(err, "cannot read Secret %q", client.ObjectKeyFromObject(p.secret).String())
	case !metav1.IsControlledBy(s, j):
	case !equality.Semantic.DeepEqual(s.Data, p.secret.Data) || !carries(s.Labels, p.secret.Labels):
		p.writeSecret = secretUpdate
		p.secret.ResourceVersion = s.ResourceVersion
	}

	return nil
}

// fits says that a CronJob stands as it was written, and that nothing else is
// wanted.
func (p plan) fits(c *batchv1.CronJob) bool {
	return c != nil && c.Annotations[annotationApplied] == applied(c.Generation, p.hash) && carries(c.Labels, p.wanted.Labels)
}

// settled says that nothing has to be written.
func (p plan) settled(j *v1alpha1.CostJob) bool {
	return p.fits(p.cronJob) && p.writeSecret == secretFits && j.Annotations[v1alpha1.AnnotationEffectiveSchedule] == p.effective
}

// carries says whether an object has all the labels wanted. Others may be there
// too: they are dropped when there is something to write.
func carries(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}

	return true
}

func applied(generation int64, hash string) string {
	return strconv.FormatInt(generation, 10) + "-" + hash
}

// hash tells what is wanted apart from anything else.
func hash(c *batchv1.CronJob) (string, error) {
	text, err := json.Marshal(map[string]any{"labels": c.Labels, "spec": c.Spec})
	if err != nil {
		return "", errors.Wrap(err, "cannot encode the CronJob")
	}
	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:8]), nil
}
