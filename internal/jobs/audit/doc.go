// Package audit checks and explains what was charged. It reads the database
// alone and changes nothing.
//
// Verify computes every final row again from what is stored: the life and the
// sources of the Subscription's version that the row names, the terms of the
// Offering's version, the allocation rows, the recorded rates. Explain does the
// same for one row and shows its working. How a row is computed is decided by
// package finops/charge, as for the collector.
//
// What cannot be computed again is not compared: the currency of a fee, which is
// that of the price book that was active when it was charged.
package audit
