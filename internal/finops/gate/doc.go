// Package gate decides the life of a Subscription: whether it may be billed,
// and whether it has to end.
//
// A Subscription has to pass four gates, in one order: its Offering, its parent,
// the coverage of what the Offering requires, and its target. When all pass for
// the first time it is activated, and billing starts. The gates are tested on
// every look. For an active Subscription three facts end it for good: the parent
// has ended, coverage is lost, the target is deleted. Whatever else fails only
// shows, and never stops the charges.
//
// Everything is decided from an [Input]: what was read, the time included. That
// something is gone is a fact somebody has proved; that it could not be read is
// kept apart from it in every [Read] and ends nothing, because no end can be
// taken back. Decisions that cannot be taken back are marked as such
// ([Decision.Final]), so that the caller can make them again from the server
// itself before it stores them.
//
// Who is related to whom is decided by package family; what an end costs, by
// the packages that compute charges.
package gate
