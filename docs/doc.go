// Package docs holds the user documentation. Its tests keep it true: links lead
// somewhere, the API's tables are those of the definitions, every reason, flag,
// variable and metric of the code is explained, queries run, and manifests are
// accepted.
package docs
