package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	jobs "github.com/provider-finops/provider-finops/internal/jobs/environment"
)

// podLookback is what the template of the pods says where the controller says
// nothing. Of everything else they take their own fallbacks.
const podLookback = "5"

// environment is what the manager takes from its variables (part 80.5).
type environment struct {
	postgresDSN         string
	databaseSchema      string
	migrationDir        string
	openCostURL         string
	openCostDeployment  string
	openCostNamespace   string
	clusterID           string
	operatorImage       string
	imagePullSecrets    string
	multiTenantOperator bool
	webhooks            bool
	webhookCertificates string // Folder that Crossplane's package runtime mounts.
	podVariables        map[string]string
	limits              collection.Limits // How far back the pods look.
}

// readEnvironment reads the manager's variables. The error names every one
// that is missing or wrong, and never shows a value that may hold a password.
func readEnvironment(getenv func(string) string) (environment, error) {
	e := environment{
		postgresDSN:         getenv("POSTGRES_CONNECTION_STRING"),
		databaseSchema:      getenv("FINOPS_DB_SCHEMA"),
		migrationDir:        getenv("FINOPS_MIGRATION_DIR"),
		openCostURL:         strings.TrimRight(getenv("OPENCOST_CONNECTION_STRING"), "/"),
		openCostDeployment:  getenv("OPENCOST_DEPLOYMENT_NAME"),
		openCostNamespace:   getenv("OPENCOST_DEPLOYMENT_NAMESPACE"),
		operatorImage:       getenv("OPERATOR_IMAGE"),
		imagePullSecrets:    getenv("IMAGE_PULL_SECRETS"),
		multiTenantOperator: getenv("MTO_ENABLED") == "true",
		webhooks:            getenv("ENABLE_WEBHOOKS") != "false",
		webhookCertificates: getenv("TLS_SERVER_CERTS_DIR"),
	}
	e.podVariables = map[string]string{}
	for _, name := range costjob.PodVariables() {
		e.podVariables[name] = getenv(name)
	}

	var wrong []error
	// What the pods are handed is read as they will read it.
	pods := jobs.Of(podEnvironment(getenv))
	e.clusterID, e.limits = pods.ClusterID(), pods.Limits()
	if err := pods.Err(); err != nil {
		wrong = append(wrong, err)
	}
	for _, required := range []string{"POSTGRES_CONNECTION_STRING", "OPENCOST_CONNECTION_STRING", "OPENCOST_DEPLOYMENT_NAME", "OPENCOST_DEPLOYMENT_NAMESPACE"} {
		if getenv(required) == "" {
			wrong = append(wrong, fmt.Errorf("environment variable %s must be set", required))
		}
	}
	if u, err := url.Parse(e.openCostURL); e.openCostURL != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
		wrong = append(wrong, errors.New("environment variable OPENCOST_CONNECTION_STRING must be a URL such as http://opencost.opencost:9003"))
	}
	if len(wrong) > 0 {
		return environment{}, &settingError{errors.Join(wrong...)}
	}
	return e, nil
}
