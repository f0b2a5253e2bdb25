// Package pricing decides what a PriceBook and an Offering come to in money:
// which rates a book states, what a meter costs with its margin, what an
// Offering publishes as its price, and what OpenCost is told.
//
// A rate that is not set is not a rate of zero. The difference is kept
// everywhere (OPEN-PB-8): without a rate nothing is sold, at a rate of zero it
// is sold for its margin.
//
// The package relies on package money for every product and every rounding. It
// does not know which book is active (package election decides) and does not
// compute charges.
package pricing
