// Package badinput holds one table of what users, operators and OpenCost get
// wrong, and what the product answers: the whole of it, on a real API server
// with the shipped webhooks and controllers, a real PostgreSQL, and the
// collectors. Each row wants the exact text, and that nothing came of it.
//
// It is a test and nothing else. Grammars are tried more thoroughly beside
// their parsers; here a reader can compare what is promised with what happens.
package badinput
