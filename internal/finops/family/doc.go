// Package family decides who is related to whom: the root of a Subscription,
// its ancestors, and which other member of its family covers what its Offering
// requires.
//
// A family is all Subscriptions that share one root ancestor. Parents are named
// by namespace and name and never change, but they can disappear while their
// children live on. So a link may lead through a Subscription that no longer
// exists, and what is no longer known is never guessed: a wrong root is final,
// and a wrong verdict on coverage ends a contract for good.
//
// What a lack of coverage costs is decided by package gate.
package family
