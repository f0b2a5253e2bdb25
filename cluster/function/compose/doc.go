// Package compose is a composition function for tests and for rendering
// offline. It does what function-patch-and-transform, function-cel-filter and
// function-auto-ready do with a documented subset of their input, so that a
// Composition that runs here runs with those three unchanged.
//
// A step with input pt.fn.crossplane.io/v1beta1, kind Resources, patches and
// transforms; one with cel.fn.crossplane.io/v1beta1, kind Filters, leaves composed
// resources out; a step without input finds out which of them are ready.
// What lies outside the subset (an environment, a condition, connection details,
// resources without a base, merge policies) is refused, and never read past: a
// Composition that needs it would mean something else elsewhere.
//
// What is easy to get wrong, and is pinned by tests:
//
//   - A patch from a field that is missing is left out. With policy Required it
//     keeps its resource from being created, with a warning; once the resource
//     exists it is left out too, with another warning. A missing field never
//     removes a resource.
//   - Any other error of a patch or transform is fatal: nothing is composed.
//   - A filter leaves out what it names, if its expression does not hold. An
//     expression that cannot be evaluated is fatal: nothing is composed, and
//     nothing ends. What no filter names stays.
//   - Patches to the composite read what is observed and write what is desired.
//     What no patch writes any more disappears from the composite's status.
//   - A resource is ready if all its checks say so, by default if its observed
//     condition Ready is True. Otherwise its readiness is left open, and
//     auto-ready looks at the same condition.
package compose
