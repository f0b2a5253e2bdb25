// Package offer decides about Offerings: whether one can be sold, at which
// price it is published, and whether it may be deleted.
//
// An Offering can be sold when everything it requires can be, and when it has a
// price. The price is published once and stays; the requirements are tested on
// every look. Nothing here is final except the published price.
//
// Prices themselves are decided by package pricing. What a requirement means
// for a Subscription is another question, which package gate answers.
package offer
