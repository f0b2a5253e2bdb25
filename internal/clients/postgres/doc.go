// Package postgres speaks to the database: the pool, the schema's upgrade, and
// one typed method per statement. It reports what is stored and stores what it
// is given; what either means is decided elsewhere.
//
// Money is int64 micros. Instants are UTC. Quantities are NUMERIC and never
// pass through a float. Business time comes in as an argument: no statement
// asks the server what time it is.
package postgres
