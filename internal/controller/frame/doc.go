// Package frame is what the controllers of all FinOps kinds share: the options
// they are set up with and the managed reconciler they run on.
//
// Every kind is a crossplane-runtime managed resource whose external client is
// its own. The frame decides what the runtime leaves open and money depends on:
//
//   - the finalizer is on the object before anything is decided about it
//     ([WithFinalizerFirst]), because an activation written on an object without
//     it could vanish unbilled;
//   - what cannot be undone is stored when it is decided, with a
//     resourceVersion precondition ([Statuses.Keep]), because no later write of
//     the runtime can be relied on to happen;
//   - a settled object costs no write, although the runtime ends every pass
//     with a status update ([quietClient]).
//
// Which rules apply to a kind is not decided here.
package frame
