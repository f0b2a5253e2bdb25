package controlplane

// AuditLog is the file, in the folder for logs, that says what the product's
// accounts have asked for and what they were answered.
const AuditLog = "audit.log"

// auditPolicy records the accounts of the product's namespace, and nobody else.
// A watch is recorded when it begins: how it ends says nothing.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts:finops-operator-system"]
  - level: None
`
