// Package charge is the collector that computes what Subscriptions owe.
//
// A run is pinned to an hour and goes through six steps, in this order: it
// gathers all Subscriptions with their terms; it writes the rows of the closed
// hours, batch by batch; it writes those of the hour in progress; it closes out
// the Subscriptions that may go; it publishes the costs; it lets go. What is to
// be written, and who may go, is decided by package finops/charge; this package
// only reads, asks and writes.
//
// The unit of work in the database is a batch of hours of all Subscriptions, in
// one transaction: usage is read as a stream, priced, and copied in, so neither
// the number of statements nor the memory grows with the Subscriptions. One that
// cannot be charged is left out of its batch and kept; the others go on.
//
// [Release] is the same for a single Subscription, where nobody collects.
//
// A run that is repeated writes nothing, and one that is cut off is continued by
// the next: rows and watermark stand in one transaction.
package charge
