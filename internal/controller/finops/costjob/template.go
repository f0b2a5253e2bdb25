package costjob

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/schedule"
)

//go:embed cronjob.yaml
var templateYAML []byte

const (
	cronJobSuffix = "-cronjob"
	secretSuffix  = "-costjob-secret"

	// secretKey is the one key of the Secret, and the variable it ends up in.
	secretKey = "POSTGRES_CONNECTION_STRING" //nolint:gosec // The name of a credential, not one.

	container = "loader"
)

// Settings are what the controller's own environment adds to a CronJob.
type Settings struct {
	// Image of the pods (OPERATOR_IMAGE). While it is empty no CronJob is made
	// (BETTER-CFG-1).
	Image string

	// ImagePullSecrets is a JSON array of local object references
	// (IMAGE_PULL_SECRETS), empty for none.
	ImagePullSecrets string

	// PostgresDSN is copied into each CostJob's Secret.
	PostgresDSN string

	// OpenCostURL is where the pods ask OpenCost.
	OpenCostURL string

	// ClusterID is stamped on all rows. The pods get the controller's, so that
	// their rows join with its own (BETTER-CJ-5).
	ClusterID string

	// ClusterIdentity tells this cluster from every other, so that the pods of two
	// that have one id do not work on one another's rows. Empty means not known.
	ClusterIdentity string

	// DatabaseSchema is the PostgreSQL schema, empty for the connection's own.
	DatabaseSchema string

	// Variables are handed to the pods as they are: what an installation sets
	// for all of its collectors, and no CostJob has a field for (PodVariables).
	Variables map[string]string

	// ClockOffset moves the pods' business time, for tests only: all processes of
	// an installation have one clock.
	ClockOffset time.Duration

	// Namespace is where the controller is installed, and with it the default
	// account of the pods. Empty means not known.
	Namespace string
}

// LegacyReferences hands --legacy-reference-namespaces down: the pods read the
// references that the controller reads.
const LegacyReferences = "LEGACY_REFERENCE_NAMESPACES"

// PodVariables are the variables of the controller's own environment that its
// pods get too, if they are set there. Each says something about all runs of an
// installation: two pods that differ in one would undo each other's work.
func PodVariables() []string {
	return []string{
		"HOURS_LOOKBACK", "MAX_BACKFILL_HOURS", "SETTLE_DELAY", "EMPTY_CONFIRM_AFTER", "PRICEBOOK_RESOLUTION",
		"MAX_CHARGE_MICROS", "ALLOCATION_RETENTION_DAYS", "CHARGE_RETENTION_DAYS", LegacyReferences,
	}
}

// cronJob fills the template for a CostJob.
func (s Settings) cronJob(j *v1alpha1.CostJob) (*batchv1.CronJob, error) {
	c := &batchv1.CronJob{}
	if err := yaml.UnmarshalStrict(templateYAML, c); err != nil {
		return nil, errors.Wrap(err, "cannot read the CronJob template")
	}
	pull, err := s.pullSecrets()
	if err != nil {
		return nil, err
	}

	c.Namespace, c.Name = j.Namespace, cronJobName(j)
	for _, m := range []*metav1.ObjectMeta{&c.ObjectMeta, &c.Spec.JobTemplate.ObjectMeta, &c.Spec.JobTemplate.Spec.Template.ObjectMeta} {
		// A CostJob that gets a CronJob at all has a name of at most 44
		// characters, which fits a label as it is.
		m.Labels[v1alpha1.LabelCostJob] = j.Name
		m.Labels[v1alpha1.LabelCostJobType] = string(j.Spec.Type)
	}
	c.Spec.Schedule, _ = schedule.Of(j.Spec.Interval.Duration)

	pod := &c.Spec.JobTemplate.Spec.Template.Spec
	pod.ImagePullSecrets = pull
	if account := j.Annotations[v1alpha1.AnnotationServiceAccount]; account != "" {
		pod.ServiceAccountName = account
	}

	i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == container })
	if i < 0 {
		return nil, errors.Errorf("cannot find container %q in the CronJob template", container)
	}
	loader := &pod.Containers[i]
	loader.Image = s.Image
	loader.Args = []string{"--mode=" + mode(j.Spec.Type)}
	if s.ClockOffset != 0 {
		loader.Args = append(loader.Args, "--clock-offset="+s.ClockOffset.String())
	}
	loader.Env = mergeEnv(loader.Env, s.env(j))
	if j.Spec.Resources != nil {
		loader.Resources = *j.Spec.Resources.DeepCopy()
	}

	return c, nil
}

func mode(t v1alpha1.CostJobType) string {
	if t == v1alpha1.CostJobTypeSubscriptionChargeCollection {
		return "collectionjob"
	}

	return "cronjob"
}

// env returns the variables that depend on the CostJob or the controller.
func (s Settings) env(j *v1alpha1.CostJob) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "COSTJOB_NAME", Value: j.Name},
		{Name: "COSTJOB_NAMESPACE", Value: j.Namespace},
		{Name: secretKey, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secretName(j)}, Key: secretKey,
		}}},
		{Name: "OPENCOST_CONNECTION_STRING", Value: strings.TrimRight(s.OpenCostURL, "/")},
		{Name: "OPERATOR_IMAGE", Value: s.Image},
		{Name: "CLUSTER_ID", Value: s.ClusterID},
	}
	timeouts := []struct {
		name  string
		value *metav1.Duration
	}{
		{"DATABASE_INIT_TIMEOUT", j.Spec.DatabaseInitTimeout},
		{"K8S_OPERATION_TIMEOUT", j.Spec.KubernetesOperationTimeout},
		{"OPENCOST_FETCH_TIMEOUT", j.Spec.OpenCostFetchTimeout},
		{"DATABASE_INSERT_TIMEOUT", j.Spec.DatabaseInsertTimeout},
		{"STATUS_UPDATE_TIMEOUT", j.Spec.StatusUpdateTimeout},
		{"HTTP_CLIENT_TIMEOUT", j.Spec.HTTPClientTimeout},
	}
	for _, t := range timeouts {
		if t.value != nil {
			env = append(env, corev1.EnvVar{Name: t.name, Value: t.value.Duration.String()})
		}
	}
	if s.ClusterIdentity != "" {
		env = append(env, corev1.EnvVar{Name: "CLUSTER_IDENTITY", Value: s.ClusterIdentity})
	}
	if s.DatabaseSchema != "" {
		env = append(env, corev1.EnvVar{Name: "FINOPS_DB_SCHEMA", Value: s.DatabaseSchema})
	}
	for _, name := range PodVariables() {
		if value := s.Variables[name]; value != "" {
			env = append(env, corev1.EnvVar{Name: name, Value: value})
		}
	}

	return env
}

// mergeEnv puts computed variables over those of the template, by name. An
// entry is replaced as a whole: a value and a reference cannot stand together.
func mergeEnv(template, computed []corev1.EnvVar) []corev1.EnvVar {
	merged := slices.Clone(template)
	for _, v := range computed {
		if i := slices.IndexFunc(merged, func(t corev1.EnvVar) bool { return t.Name == v.Name }); i >= 0 {
			merged[i] = v
			continue
		}
		merged = append(merged, v)
	}

	return merged
}

func (s Settings) pullSecrets() ([]corev1.LocalObjectReference, error) {
	if s.ImagePullSecrets == "" {
		return nil, nil
	}
	var refs []corev1.LocalObjectReference
	if err := json.Unmarshal([]byte(s.ImagePullSecrets), &refs); err != nil {
		return nil, errors.Wrap(err, "cannot read IMAGE_PULL_SECRETS as a JSON array of object references")
	}

	return refs, nil
}

// secret returns the CostJob's copy of the database's address.
func (s Settings) secret(j *v1alpha1.CostJob) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: j.Namespace,
			Name:      secretName(j),
			Labels: map[string]string{
				"app.kubernetes.io/managed-by": "finops-operator",
				v1alpha1.LabelCostJob:          j.Name,
				v1alpha1.LabelCostJobType:      string(j.Spec.Type),
			},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{secretKey: []byte(s.PostgresDSN)},
	}
}

func cronJobName(j *v1alpha1.CostJob) string { return j.Name + cronJobSuffix }

func secretName(j *v1alpha1.CostJob) string { return j.Name + secretSuffix }
