package badinput

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/jobs/allocation"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// The manifests that the rows spoil.
const (
	priceBook = `
apiVersion: finops.stakater.com/v1alpha1
kind: PriceBook
metadata: {name: tariff}
spec:
  currency: %q
  valuationMode: currency
  rates: {cpuHour: %q}
`
	offering = `
apiVersion: finops.stakater.com/v1alpha1
kind: Offering
metadata: {name: %q}
spec:
  pricing: {}
`
	feed = `
apiVersion: finops.stakater.com/v1alpha1
kind: Offering
metadata: {name: sold}
spec:
  pricing:
    subscriptionFee: {tickAlignment: %s, period: %q, priceMicros: 1%s}
`
	margins = `
apiVersion: finops.stakater.com/v1alpha1
kind: Offering
metadata: {name: sold}
spec:
  pricing:
    resourcePricing: [{name: cpuHour, margins: {%s}}]
`
	subscription = `
apiVersion: finops.stakater.com/v1alpha1
kind: Subscription
metadata: {name: %q}
spec:
  offeringRef: {name: %s, namespace: NAMESPACE}
`
	costJob = `
apiVersion: finops.stakater.com/v1alpha1
kind: CostJob
metadata: {name: hourly}
spec: {%s}
`
)

// What is said again and again.
const (
	notARate     = `spec.rates.cpuHour: Invalid value: "%s": spec.rates.cpuHour in body should match '^([0-9]+(\.[0-9]+)?)?$'`
	notACurrency = `spec.currency: Invalid value: "%s": spec.currency in body should match '^[A-Z]{3}$'`
	unread       = `cannot collect 1 of 1 hours, the first of them "2026-04-01T10:00:00Z": cannot read the allocations of window "2026-04-01T10:00:00Z,2026-04-01T11:00:00Z" from OpenCost at "SERVER": `
	notAPeriod   = "spec.pricing.subscriptionFee: Invalid value: period must be a Go duration (e.g. '1h') for ActivatedAt alignment, or a plain integer for boundary alignments"
)

func book(currency, rate string) string { return fmt.Sprintf(priceBook, currency, rate) }

func requiring(name string, refs ...string) string {
	return fmt.Sprintf(offering, name) + "  compatibility: {requiredOfferings: [" + strings.Join(refs, ", ") + "]}\n"
}

func bound(name, offering string) string { return fmt.Sprintf(subscription, name, offering) }

func child(name, parent string) string {
	return bound(name, "plain") + "  parent: {subscriptionRef: {name: " + parent + ", namespace: NAMESPACE}}\n"
}

func using(sources string) string {
	return bound("blue", "plain") + "  usageSources: [" + sources + "]\n"
}

func targeting(target string) string {
	return bound("blue", "plain") + "  lifecycle: {targetRef: {" + target + "}}\n"
}

func many(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ", ")
}

var plain = fmt.Sprintf(offering, "plain")

// TestBadInput is the table. The rows are in the order of the list of what a
// careless or hostile hand may write.
func TestBadInput(t *testing.T) {
	w := newWorld(t)
	apps := []string{"api", "a%", "a_i", "'; DROP TABLE subscription_charges; --"}

	rows := []struct {
		what string
		try  door
		want string
	}{
		// Rates.
		{"rate: empty", applied(book("EUR", "")), accepted},
		{"rate: empty, in force", judged(book("EUR", "")), "ValidationSucceeded: the rates can be read"},
		{"rate: abc", applied(book("EUR", "abc")), fmt.Sprintf(notARate, "abc")},
		{"rate: -1", applied(book("EUR", "-1")), fmt.Sprintf(notARate, "-1")},
		{"rate: 1e309", applied(book("EUR", "1e309")), fmt.Sprintf(notARate, "1e309")},
		{"rate: NaN", applied(book("EUR", "NaN")), fmt.Sprintf(notARate, "NaN")},
		{"rate: 0.0000000000001", judged(book("EUR", "0.0000000000001")), `ValidationSucceeded: rate "cpuHour" ("0.0000000000001") rounded to 0 micros`},
		{"rate: 1,5", applied(book("EUR", "1,5")), fmt.Sprintf(notARate, "1,5")},
		{"rate: 30 digits", judged(book("EUR", strings.Repeat("9", 30))), `PricebookParseFailed: rate "cpuHour" ("999999999999999999999999999999"): larger than 9223372036854.775807`},
		{"rate: +1", applied(book("EUR", "+1")), fmt.Sprintf(notARate, "+1")},
		{"rate: Arabic digits", applied(book("EUR", "١٢")), fmt.Sprintf(notARate, "١٢")},

		// Currencies.
		{"currency: empty", applied(book("", "1")), fmt.Sprintf(notACurrency, "")},
		{"currency: usd", applied(book("usd", "1")), fmt.Sprintf(notACurrency, "usd")},
		{"currency: XXX", judged(book("XXX", "1")), "ValidationSucceeded: the rates can be read"},
		{"currency: US", applied(book("US", "1")), fmt.Sprintf(notACurrency, "US")},
		{"currency: four letters", applied(book("EURO", "1")), fmt.Sprintf(notACurrency, "EURO")},

		// Margins.
		{"margin: both", applied(fmt.Sprintf(margins, "absoluteMicros: 1, factorMilli: 1")), "spec.pricing.resourcePricing[0].margins: Invalid value: absoluteMicros and factorMilli are mutually exclusive — set only one"},
		{"margin: negative amount", applied(fmt.Sprintf(margins, "absoluteMicros: -1")), "spec.pricing.resourcePricing[0].margins: Invalid value: absoluteMicros must be >= 0"},
		{"margin: negative factor", applied(fmt.Sprintf(margins, "factorMilli: -1")), "spec.pricing.resourcePricing[0].margins: Invalid value: factorMilli must be >= 0"},
		{"margin: 2^63", applied(fmt.Sprintf(margins, "absoluteMicros: 9223372036854775808")), "spec.pricing.resourcePricing[0].margins.absoluteMicros: Invalid value: \"float64\": spec.pricing.resourcePricing[0].margins.absoluteMicros in body must be of type int64: \"float64\"\n<nil>: Invalid value: \"\": Checked value must be of type integer with format int64 in spec.pricing.resourcePricing[0].margins.absoluteMicros\n<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"},
		{"margin: factor of 2^63", applied(fmt.Sprintf(margins, "factorMilli: 9223372036854775808")), "spec.pricing.resourcePricing[0].margins.factorMilli: Invalid value: \"float64\": spec.pricing.resourcePricing[0].margins.factorMilli in body must be of type int64: \"float64\"\n<nil>: Invalid value: \"\": Checked value must be of type integer with format int64 in spec.pricing.resourcePricing[0].margins.factorMilli\n<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"},

		// Periods.
		{"period: 0h", applied(fmt.Sprintf(feed, "ActivatedAt", "0h", "")), notAPeriod},
		{"period: -1h", applied(fmt.Sprintf(feed, "ActivatedAt", "-1h", "")), notAPeriod},
		{"period: 1.5d", applied(fmt.Sprintf(feed, "DayBoundary", "1.5d", "")), notAPeriod},
		{"period: 1mo from activation", applied(fmt.Sprintf(feed, "ActivatedAt", "1mo", "")), notAPeriod},
		{"period: 1mo of months", applied(fmt.Sprintf(feed, "MonthBoundary", "1mo", "")), accepted},
		{"period: of another alignment", applied(fmt.Sprintf(feed, "MonthBoundary", "24h", "")), notAPeriod},
		{"minPeriods: -1", applied(fmt.Sprintf(feed, "ActivatedAt", "1h", ", minPeriods: -1")), "spec.pricing.subscriptionFee.minPeriods: Invalid value: -1: spec.pricing.subscriptionFee.minPeriods in body should be greater than or equal to 1"},
		{"minPeriods: 2^31", applied(fmt.Sprintf(feed, "ActivatedAt", "1h", ", minPeriods: 2147483648")), `<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.pricing.subscriptionFee.minPeriods`},

		// Names.
		{"name: 254 characters", applied(bound(strings.Repeat("x", 254), "plain")), `metadata.name: Invalid value: "x…": must be no more than 253 characters`},
		{"name: capitals", applied(bound("Blue", "plain")), `metadata.name: Invalid value: "Blue": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"name: ..", applied(bound("..", "plain")), `metadata.name: Invalid value: "..": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},

		// Parents.
		{"parent: itself", applied(child("blue", "blue")), `admission webhook "vsubscription-v1alpha1.kb.io" denied the request: CircularDependencyDetected: subscription NAMESPACE/blue names itself as its parent`},
		{"parent: missing", judged(plain, child("blue", "nobody")), "ParentSubscriptionNotFound: parent subscription NAMESPACE/nobody does not exist"},
		{"parent: in another namespace, missing", judged(plain, bound("blue", "plain")+"  parent: {subscriptionRef: {name: up, namespace: elsewhere}}\n"), "ParentSubscriptionNotFound: parent subscription elsewhere/up does not exist"},
		{"parent: in no namespace", applied(bound("blue", "plain") + "  parent: {subscriptionRef: {name: up}}\n"), "spec.parent.subscriptionRef.namespace: Required value\n<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"},
		{"parent: terminating", afterDeletion("up", plain, bound("up", "plain"))(child("blue", "up")), "ParentSubscriptionDeactivated: parent subscription NAMESPACE/up has been deactivated, which never clears"},
		{"parent: in a cycle", judged(plain, child("blue", "green"), child("green", "blue")), "ParentSubscriptionNotReady: parent subscription NAMESPACE/blue is not ready; parent cycle: NAMESPACE/green -> NAMESPACE/blue -> NAMESPACE/green"},
		{"parent: in a cycle of three", judged(plain, child("a", "b"), child("b", "c"), child("c", "a")), "ParentSubscriptionNotReady: parent subscription NAMESPACE/a is not ready; parent cycle: NAMESPACE/c -> NAMESPACE/a -> NAMESPACE/b -> NAMESPACE/c"},

		// References to Offerings.
		{"offeringRef: no namespace", applied(strings.ReplaceAll(bound("blue", "plain"), ", namespace: NAMESPACE", "")), "spec.offeringRef.namespace: Required value\n<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"},
		{"offeringRef: namespace that is missing", judged(strings.ReplaceAll(bound("blue", "plain"), "namespace: NAMESPACE", "namespace: elsewhere")), "OfferingNotFound: offering elsewhere/plain does not exist"},
		{"offeringRef: missing", judged(bound("blue", "nothing")), "OfferingNotFound: offering NAMESPACE/nothing does not exist"},
		{"offeringRef: not ready", judged(requiring("waits", "{name: nothing, namespace: NAMESPACE}"), bound("blue", "waits")), "OfferingNotReady: offering NAMESPACE/waits is not ready"},

		// Required Offerings.
		{"requiredOfferings: the same twice", judged(plain, requiring("sold", "{name: plain, namespace: NAMESPACE}", "{name: plain, namespace: NAMESPACE}")), "ValidationSucceeded: the Offering can be subscribed to"},
		{"requiredOfferings: itself", applied(requiring("sold", "{name: sold, namespace: NAMESPACE}")), `admission webhook "voffering-v1alpha1.kb.io" denied the request: CircularDependencyDetected: circular dependency: NAMESPACE/sold -> NAMESPACE/sold`},
		{"requiredOfferings: a thousand", judged(requiring("sold", many(1000, "{name: n%d, namespace: NAMESPACE}"))), "RequiredOfferingNotFound: required offering NAMESPACE/n0 does not exist"},
		{"requiredOfferings: empty", judged(requiring("sold")), "ValidationSucceeded: the Offering can be subscribed to"},

		// Usage sources.
		{"usageSources: an empty entry", applied(using("{}")), "spec.usageSources[0]: Invalid value: at least one of resourceType, name, or namespace must be set"},
		{"usageSources: an entry of empty texts", applied(using(`{name: "", namespace: ""}`)), "spec.usageSources[0]: Invalid value: at least one of resourceType, name, or namespace must be set"},
		{"usageSources: ten thousand", applied(using(many(10_000, "{name: n%d}"))), accepted},
		{"usageSources: ten thousand, one of which is met", charged(apps, sources(10_000, "api")...), "1 hours of CPU"},
		{"usageSources: wildcard", charged(apps, v1alpha1.UsageSource{Name: "*"}), "nothing charged"},
		{"usageSources: quote", charged(apps, v1alpha1.UsageSource{Name: "'; DROP TABLE subscription_charges; --"}), "1 hours of CPU"},
		{"usageSources: percent", charged(apps, v1alpha1.UsageSource{Name: "a%"}), "1 hours of CPU"},
		{"usageSources: underscore", charged(apps, v1alpha1.UsageSource{Name: "a_i"}), "1 hours of CPU"},
		{"usageSources: overlapping", charged(apps, v1alpha1.UsageSource{Name: "api"}, v1alpha1.UsageSource{Namespace: "apps"}), "4 hours of CPU"},

		// Targets.
		{"targetRef: itself", applied(targeting("apiVersion: finops.stakater.com/v1alpha1, kind: Subscription, name: blue, namespace: NAMESPACE")), `admission webhook "vsubscription-v1alpha1.kb.io" denied the request: TargetIsSelfReference: subscription NAMESPACE/blue names itself as its target`},
		{"targetRef: cluster-scoped, with a namespace", judged(plain, targeting("apiVersion: v1, kind: Namespace, name: default, namespace: NAMESPACE")), "ActivationSucceeded: every gate passes"},
		{"targetRef: cluster-scoped, missing", judged(plain, targeting("apiVersion: v1, kind: Namespace, name: no-such-namespace")), "TargetNotFound: target Namespace no-such-namespace does not exist"},
		{"targetRef: namespaced, without a namespace", judged(plain, targeting("apiVersion: v1, kind: ConfigMap, name: x")), "ValidationError: cannot read target ConfigMap x: targetRef has no namespace, which a ConfigMap needs"},
		{"targetRef: unknown kind", judged(plain, targeting("apiVersion: example.org/v1, kind: Widget, name: x, namespace: NAMESPACE")), "TargetNotFound: target Widget NAMESPACE/x does not exist: the cluster has no kind Widget in example.org/v1"},
		{"targetRef: forbidden", judged(plain, targeting("apiVersion: apps/v1, kind: StatefulSet, name: x, namespace: NAMESPACE")), `ValidationError: cannot read target StatefulSet NAMESPACE/x: get, list and watch have to be granted by a ClusterRole with the label finops.stakater.com/aggregate-to-target-reader: "true": statefulsets.apps "x" is forbidden: User "controller" cannot get resource "statefulsets" in API group "apps" in the namespace "NAMESPACE"`},
		{"targetRef: empty apiVersion", judged(plain, targeting(`apiVersion: "", kind: ConfigMap, name: x, namespace: NAMESPACE`)), "TargetNotFound: target ConfigMap NAMESPACE/x does not exist"},
		{"targetRef: apiVersion of three parts", judged(plain, targeting(`apiVersion: a/b/c, kind: ConfigMap, name: x, namespace: NAMESPACE`)), "ValidationError: cannot read target ConfigMap NAMESPACE/x: unexpected GroupVersion string: a/b/c"},

		// Metadata.
		{"label: empty", judged(strings.Replace(fmt.Sprintf(offering, "sold"), "metadata: {", `metadata: {labels: {a: ""}, annotations: {b: ""}, `, 1)), "ValidationSucceeded: the Offering can be subscribed to"},
		{"annotation: true, True and 1", elected("True", "true", "1"), `"true"`},

		// CostJobs.
		{"interval: 7m", scheduled("7m"), "0 0 * * *, noted: 0 0 * * *"},
		{"interval: 0", scheduled("0"), "0 0 * * *, noted: 0 0 * * *"},
		{"interval: 1s", scheduled("1s"), "0 0 * * *, noted: 0 0 * * *"},
		{"interval: -1h", scheduled("-1h"), "0 0 * * *, noted: 0 0 * * *"},
		{"interval: 1d", applied(fmt.Sprintf(costJob, `interval: "1d"`)), `spec.interval: Invalid value: "string": type conversion error from 'string' to 'google.protobuf.Duration' evaluating rule: must be a Go duration such as 90s, 1h or 24h`},
		{"type: unknown", applied(fmt.Sprintf(costJob, "type: Everything")), "spec.type: Unsupported value: \"Everything\": supported values: \"ResourceCostCollection\", \"SubscriptionChargeCollection\"\n<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"},

		// Connection strings of PostgreSQL.
		{"PostgreSQL: %40 in the password", connected("postgres://USER:p%40ss@SERVER/NAME?sslmode=disable"), accepted},
		{"PostgreSQL: @ in the password", connected("postgres://USER:p@ss@SERVER/NAME?sslmode=disable"), "cannot parse the PostgreSQL connection string: the user name or password holds a character that ends the host part of a URL; write /, ?, # and @ as %2F, %3F, %23 and %40"},
		{"PostgreSQL: IPv6", connected("postgres://USER@[::1]:1/NAME?sslmode=disable"), "cannot read the state of the schema: failed to connect to `user=USER database=NAME`: [::1]:1 (::1): dial error: dial tcp [::1]:1: connect: connection refused"},
		{"PostgreSQL: socket", connected("host=FOLDER user=USER dbname=NAME"), "cannot read the state of the schema: failed to connect to `user=USER database=NAME`: FOLDER/.s.PGSQL.5432 (FOLDER): dial error: dial unix FOLDER/.s.PGSQL.5432: connect: no such file or directory"},
		{"PostgreSQL: postgresql://", connected("postgresql://USER@SERVER/NAME?sslmode=disable"), accepted},
		{"PostgreSQL: mysql://", connected("mysql://USER:secret@SERVER/NAME"), "cannot parse the PostgreSQL connection string: it is neither a URL (postgres://user:password@host:5432/database) nor a list of key=value pairs; in a URL, special characters of the password are percent-encoded"},
		{"PostgreSQL: verify-full without a CA", connected("postgres://USER:secret@SERVER/NAME?sslmode=verify-full&sslrootcert=FOLDER/none.pem"), "cannot parse the PostgreSQL connection string: the file named by sslrootcert cannot be read"},
		{"PostgreSQL: verify-full of a server without TLS", connected("postgres://USER:secret@SERVER/NAME?sslmode=verify-full"), "cannot read the state of the schema: failed to connect to `user=USER database=NAME`: SERVER (127.0.0.1): tls error: server refused TLS connection"},
		{"PostgreSQL: empty", configured(charge.FromEnvironment, "POSTGRES_CONNECTION_STRING", ""), "environment variable POSTGRES_CONNECTION_STRING must be set"},

		// Addresses of OpenCost.
		{"OpenCost: no scheme", reached("opencost:9003"), `cannot use the URL of OpenCost: scheme "opencost" is neither http nor https`},
		{"OpenCost: trailing slash", reached("http://SERVER/"), "/allocation/compute"},
		{"OpenCost: path", reached("http://SERVER/model"), "/model/allocation/compute"},
		{"OpenCost: path and query", reached("http://SERVER/model?x=1"), `cannot use the URL of OpenCost at "SERVER": it has a query or a fragment`},
		{"OpenCost: user info", reached("http://me:secret@SERVER"), "me:secret@/allocation/compute"},
		{"OpenCost: empty", configured(allocation.FromEnvironment, "OPENCOST_CONNECTION_STRING", ""), "environment variable OPENCOST_CONNECTION_STRING must be set"},

		// Names that OpenCost tells.
		{"item: NUL in its name", measured("api-1", `api\u0000-1`), unread + "the answer holds an item that cannot be used (at byte 646): item \"default/api\\x00-1/main\": name holds a NUL"},
		{"item: invalid UTF-8 in its name", measured("api-1", "api\xff-1"), unread + `the answer is not one whole JSON document (at byte 21): invalid UTF-8`},
		{"item: name of 10 kB", measured("api-1", strings.Repeat("x", 10_000)), unread + `the answer holds an item that cannot be used (at byte 30613): item "default/x……": name is 10013 bytes long, more than 1024`},
		{"item: parts of its name missing", measured("default/api-1/main", "api-1"), "stored api-1: 0.25 for 01:00:00"},
		{"item: __idle__", measured("default/api-1/main", "__idle__", `"namespace":"default",`, ""), "stored __idle__: 0.25 for 01:00:00"},
		{"item: __unmounted__", measured("default/api-1/main", "default/__unmounted__/__unmounted__", `"pod":"api-1"`, `"pod":"__unmounted__"`), "stored default/__unmounted__/__unmounted__: 0.25 for 01:00:00"},
		{"item: __unallocated__", measured("default/api-1/main", "__unallocated__/api-1/main", `"namespace":"default"`, `"namespace":"__unallocated__"`), "stored __unallocated__/api-1/main: 0.25 for 01:00:00"},
		{"item: the same key twice", measured(item, item+","+item), unread + `the answer is not one whole JSON document (at byte 1236): it has item "default/api-1/main" twice`},

		// Figures that OpenCost tells.
		{"usage: negative", measured(`"cpuCoreUsageAverage":0.25`, `"cpuCoreUsageAverage":-0.25`), "stored default/api-1/main: 0 for 01:00:00"},
		{"usage: null", measured(`"cpuCoreUsageAverage":0.25`, `"cpuCoreUsageAverage":null`), "stored default/api-1/main: 0 for 01:00:00"},
		{"usage: 1e300", measured(`"cpuCoreUsageAverage":0.25`, `"cpuCoreUsageAverage":1e300`), unread + `the answer holds an item that cannot be used (at byte 629): item "default/api-1/main": cpuCoreUsageAverage: cannot read quantity "1e300": out of range`},
		{"usage: text", measured(`"cpuCoreUsageAverage":0.25`, `"cpuCoreUsageAverage":"1.0"`), unread + `the answer holds an item that cannot be used (at byte 629): item "default/api-1/main": cpuCoreUsageAverage: "1.0" is not a number`},
		{"usage: NaN", measured(`"cpuCoreUsageAverage":0.25`, `"cpuCoreUsageAverage":NaN`), unread + `the answer is not one whole JSON document (at byte 41): invalid character 'N' at start of value`},
		{"cost: negative", measured(`"totalCost":0.01`, `"totalCost":-1`), "stored default/api-1/main: 0.25 for 01:00:00"},
		{"cost: null", measured(`"totalCost":0.01`, `"totalCost":null`), "stored default/api-1/main: 0.25 for 01:00:00"},
		{"cost: 1e300", measured(`"totalCost":0.01`, `"totalCost":1e300`), "stored default/api-1/main: 0.25 for 01:00:00"},
		{"cost: text", measured(`"totalCost":0.01`, `"totalCost":"1.0"`), "stored default/api-1/main: 0.25 for 01:00:00"},
		{"minutes: negative", measured(`"minutes":60`, `"minutes":-2.45`), "stored default/api-1/main: 0.25 for 01:00:00"},
		{"usage: negative, of __idle__", measured("default/api-1/main", "__idle__", `"namespace":"default",`, "", `"cpuCoreUsageAverage":0.25`, `"cpuCoreUsageAverage":-1.2`), "stored __idle__: 0 for 01:00:00"},

		// Whole answers.
		{"answer: empty", answered(pinned, http.StatusOK, ""), unread + `the answer is not one whole JSON document: it is empty`},
		{"answer: no sets", answered(pinned, http.StatusOK, `{"code":200,"data":[]}`), "nothing stored, the hour is open"},
		{"answer: an empty set", answered(pinned, http.StatusOK, `{"code":200,"data":[{}]}`), "nothing stored, the hour is open"},
		{"answer: null", answered(pinned, http.StatusOK, `{"code":200,"data":null}`), "nothing stored, the hour is open"},
		{"answer: a failure inside of a success", answered(pinned, http.StatusOK, `{"code":500,"data":null}`), unread + `the answer reports an error (at byte 11): code 500`},
		{"answer: a proxy's page", answered(pinned, http.StatusGatewayTimeout, "<html><body>504 Gateway Time-out</body></html>"), unread + `the request was refused: 504 Gateway Timeout`},

		// Time.
		{"window: its end before its start", measured(`"end":"2026-04-01T11:00:00Z"},"start"`, `"end":"2026-04-01T09:00:00Z"},"start"`), unread + `the answer is for another window (at byte 628): item "default/api-1/main": its window is "2026-04-01T10:00:00Z" to "2026-04-01T09:00:00Z"`},
		{"item: ends before it starts", measured(`"start":"2026-04-01T10:00:00Z","end":"2026-04-01T11:00:00Z","minutes"`, `"start":"2026-04-01T10:50:00Z","end":"2026-04-01T10:10:00Z","minutes"`), "stored default/api-1/main: 0.25 for 00:00:00"},
		{"hour: not a whole one", collected(pinned.Add(17 * time.Minute)), "stored default/api-1/main: 0.25 for 01:00:00"},
		{"hour: in the future", collected(pinned.Add(2 * time.Hour)), `cannot work on hour "2026-04-01T12:00:00Z" by the schedule at "2026-04-01T10:00:30Z": the hour has not begun`},
		{"hour: of another answer", collected(pinned.Add(-time.Hour)), `cannot collect 1 of 1 hours, the first of them "2026-04-01T09:00:00Z": cannot read the allocations of window "2026-04-01T09:00:00Z,2026-04-01T10:00:00Z" from OpenCost at "SERVER": the answer is for another window (at byte 628): item "default/api-1/main": its window is "2026-04-01T10:00:00Z" to "2026-04-01T11:00:00Z"`},

		// Clusters.
		{"cluster: empty", configured(charge.FromEnvironment, "CLUSTER_ID", ""), accepted},
		{"cluster: default-cluster", configured(allocation.FromEnvironment, "CLUSTER_ID", "default-cluster"), accepted},
		{"cluster: 10 kB", configured(charge.FromEnvironment, "CLUSTER_ID", strings.Repeat("x", 10_000)), `environment variable CLUSTER_ID must be text of at most 253 bytes, not 10000 bytes that begin with "xxxxxxxxxxxxxxxxxxxx"`},
	}
	for _, row := range rows {
		t.Run(row.what, func(t *testing.T) {
			got := short(row.try(t, w, row.want))
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// afterDeletion creates objects and has one of them deleted, which its finalizer
// holds, before the next is judged.
func afterDeletion(deleted string, manifests ...string) func(string) door {
	return func(last string) door {
		return func(t *testing.T, w *world, want string) string {
			t.Helper()
			ns := apitest.Namespace(t, w)
			w.create(t, ns, manifests...)
			u := read(t, ns, bound(deleted, "plain"))
			if got := w.verdict(t, u, active); got != active {
				t.Fatalf("%s is not active: %s", deleted, got)
			}
			if err := w.Delete(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			w.create(t, ns, last)
			return w.verdict(t, read(t, ns, last), want)
		}
	}
}

const active = "ActivationSucceeded: every gate passes"
