package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	pkgv1 "github.com/crossplane/crossplane/apis/v2/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	fieldManager = "external-package-runtime"
	lookInterval = 200 * time.Millisecond

	// webhookPort is that of the Service which Crossplane names in a package's
	// webhook configurations.
	webhookPort = 9443
)

// An external is the part of the package manager that Crossplane leaves to
// others when it is started with --package-runtime=External: it gives each
// active revision its certificate and its Service and says that it is healthy.
// Whoever called it starts the processes.
type external struct {
	client       client.Client
	namespace    string
	certificates string            // Folder; each package's files go to one named after it.
	functions    map[string]string // Package → address that its process listens on.
	providers    bool              // Providers are served, too.
}

func run(flags *flag.FlagSet) func(context.Context, []string) error {
	e := &external{functions: map[string]string{}}
	flags.StringVar(&e.namespace, "namespace", "crossplane-system", "`namespace` of Crossplane")
	flags.StringVar(&e.certificates, "certificates", "", "`folder` for the certificates, one folder in it for each package")
	flags.BoolVar(&e.providers, "providers", true, "serve Providers too, and not Functions only")
	flags.Func("function", "`package=address` that a Function's process listens on; repeat for each", func(text string) error {
		pkg, address, found := strings.Cut(text, "=")
		if !found {
			return errors.New("want package=address")
		}
		e.functions[pkg] = address
		return nil
	})
	return func(ctx context.Context, _ []string) error {
		var err error
		if e.client, err = newClient(); err != nil {
			return err
		}
		tick := time.NewTicker(lookInterval)
		defer tick.Stop()
		for {
			if err := e.look(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "pkgtool: %v\n", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	}
}

func newClient() (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), pkgv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("cannot register types: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot find an API server: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	return c, nil
}

// look serves every active revision once.
func (e *external) look(ctx context.Context) error {
	providers, functions := &pkgv1.ProviderRevisionList{}, &pkgv1.FunctionRevisionList{}
	if err := errors.Join(e.client.List(ctx, providers), e.client.List(ctx, functions)); err != nil {
		return fmt.Errorf("cannot list revisions: %w", err)
	}
	var failed []error
	for i := range providers.Items {
		if !e.providers {
			break // They have a runtime of their own.
		}
		failed = append(failed, e.bind(ctx, &providers.Items[i]), e.provide(ctx, &providers.Items[i], pkgv1.ProviderRevisionKind, ""))
	}
	for i := range functions.Items {
		pkg := functions.Items[i].GetLabels()[pkgv1.LabelParentPackage]
		if address, known := e.functions[pkg]; known {
			failed = append(failed, e.provide(ctx, &functions.Items[i], pkgv1.FunctionRevisionKind, "dns:///"+address))
		}
	}
	return errors.Join(failed...)
}

func (e *external) provide(ctx context.Context, revision pkgv1.PackageRevisionWithRuntime, kind, endpoint string) error {
	if revision.GetDesiredState() != pkgv1.PackageRevisionActive || revision.GetDeletionTimestamp() != nil {
		return nil
	}
	pkg := revision.GetLabels()[pkgv1.LabelParentPackage]
	secret := pkg + "-tls-server"
	if err := e.certify(ctx, pkg, secret); err != nil {
		return fmt.Errorf("cannot certify package %q: %w", pkg, err)
	}
	if err := e.expose(ctx, pkg); err != nil {
		return fmt.Errorf("cannot expose package %q: %w", pkg, err)
	}
	if settled(revision, secret, endpoint) {
		return nil
	}
	status := map[string]any{"tlsServerSecretName": secret, "conditions": []any{healthy()}}
	if endpoint != "" {
		status["endpoint"] = endpoint
	}
	applied := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	applied.SetGroupVersionKind(pkgv1.SchemeGroupVersion.WithKind(kind))
	applied.SetName(revision.GetName())
	err := e.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership, client.FieldOwner(fieldManager))
	if err != nil {
		return fmt.Errorf("cannot say that revision %q is healthy: %w", revision.GetName(), err)
	}
	fmt.Printf("%s %s is healthy\n", kind, revision.GetName())
	return nil
}

// bind gives a Provider's ServiceAccount, called like its package, the role that
// Crossplane's RBAC manager makes for the revision. With the Deployment runtime
// the manager does that as well: it finds the account in the Deployment.
func (e *external) bind(ctx context.Context, revision *pkgv1.ProviderRevision) error {
	pkg := revision.GetLabels()[pkgv1.LabelParentPackage]
	role := "crossplane:provider:" + revision.GetName() + ":system"
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name:            "external:" + role, // The manager's own binding is called like the role.
			OwnerReferences: []metav1.OwnerReference{{APIVersion: pkgv1.SchemeGroupVersion.String(), Kind: pkgv1.ProviderRevisionKind, Name: revision.GetName(), UID: revision.GetUID()}},
		},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: pkg}},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: pkg}}
	for _, object := range []client.Object{account, binding} {
		if err := e.client.Create(ctx, object); err != nil && !kerrors.IsAlreadyExists(err) {
			return fmt.Errorf("cannot give package %q its rights: %w", pkg, err)
		}
	}
	return nil
}

func settled(revision pkgv1.PackageRevisionWithRuntime, secret, endpoint string) bool {
	if f, ok := revision.(*pkgv1.FunctionRevision); ok && f.Status.Endpoint != endpoint {
		return false
	}
	told := revision.GetObservedTLSServerSecretName()
	return told != nil && *told == secret && revision.GetCondition(pkgv1.TypeRuntimeHealthy).Status == corev1.ConditionTrue
}

func healthy() map[string]any {
	c := pkgv1.RuntimeHealthy()
	return map[string]any{
		"type": string(c.Type), "status": string(c.Status), "reason": string(c.Reason),
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}
}

// expose makes the Service that webhook configurations name. Nothing selects
// pods: whoever uses it has to listen on its address.
func (e *external) expose(ctx context.Context, pkg string) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: pkg},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "webhook", Port: webhookPort}}},
	}
	err := e.client.Get(ctx, client.ObjectKeyFromObject(service), service)
	if kerrors.IsNotFound(err) {
		return e.client.Create(ctx, service)
	}
	return err
}

// certify makes the package's certificate once and keeps its files as they are
// in the Secret.
func (e *external) certify(ctx context.Context, pkg, name string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}}
	err := e.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if kerrors.IsNotFound(err) {
		authority := &corev1.Secret{}
		if err := e.client.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: "crossplane-root-ca"}, authority); err != nil {
			return err
		}
		if secret.Data, err = certificate(authority.Data, pkg, e.namespace); err != nil {
			return err
		}
		err = e.client.Create(ctx, secret)
	}
	if err != nil || e.certificates == "" {
		return err
	}
	dir := filepath.Join(e.certificates, pkg)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for file, text := range secret.Data {
		if err := keep(filepath.Join(dir, file), text); err != nil {
			return err
		}
	}
	return nil
}

// keep writes a file under another name first: somebody may be reading it.
func keep(file string, text []byte) error {
	if old, err := os.ReadFile(file); err == nil && string(old) == string(text) {
		return nil
	}
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
