// Package tick computes fees: when a price is due, how much of it, and until
// when.
//
// A fee is a price per period. Each life of a Subscription has a row of tick
// boundaries, all strictly after its activation, and each boundary is worth one
// price:
//
//	activation        b1             b2             b3
//	    |-------------|--------------|--------------|----- ...
//	      opening tick   full tick      full tick
//
// Where the boundaries lie depends on the alignment. Under ActivatedAt they
// follow the activation, so every tick is a full one. Under the three boundary
// alignments they lie on a grid that the whole cluster shares, so the opening
// tick is shorter than a period and its price is reduced in proportion.
//
// Three rules do the rest:
//
//   - A window of time is charged for the boundaries in (start, end]. So a
//     boundary belongs to the window that ends with it, adjoining windows
//     neither overlap nor leave a gap, and however a span is split the parts
//     add up to the whole.
//   - An ended life is charged up to its snap, the first boundary at or after
//     the end. So the closing tick is charged in full and nothing after it.
//   - The minimum of periods counts boundaries since the activation and changes
//     no amount: it only says how long a deleted Subscription is kept.
//
// Everything is a closed form: no answer takes longer because a life is longer.
// Times are UTC and whole seconds (fractions are cut off), counts and lengths
// are int64, products are of any size, and the one rounding is down.
package tick
