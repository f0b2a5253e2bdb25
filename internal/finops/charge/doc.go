// Package charge computes what a Subscription owes for an hour, which hours a
// collector run has to write, what is published about them, and when a deleted
// Subscription may go.
//
// A charge row is for one Subscription, one hour and one source: the fee, or a
// usage meter. The fee comes from the terms and the life alone (package tick).
// Usage comes from what was measured: the collector adds up, exactly, what each
// Subscription's sources consumed in an hour under one price book, and this
// package prices it with that book's rates and the Offering's margins.
//
// Rows become final when nothing they were computed from can change any more,
// and a final row is history. So everything here depends on the pinned hour of
// the run and never on a clock: the same run again gives the same rows.
//
// The package knows no database and no API object. Which workloads a source
// selects is decided by [Source.Selects]; the collector's SQL does the same set
// by set and is tested against it.
package charge
