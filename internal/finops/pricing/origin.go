package pricing

import (
	"fmt"
	"regexp"
)

const (
	// originNone is said of a price that took nothing from a book.
	originNone = "resolved without a pricebook"

	// newerRates is appended when the charges have moved away from the
	// published price (BETTER-OFF-3).
	newerRates = " (charges now use newer rates)"
)

// Nothing in the API holds which book a price came from, so the message of the
// condition is the record, and it is read back from there.
var originText = regexp.MustCompile(`resolved from pricebook \S+/\S+ generation [0-9]+|` + originNone)

func origin(b Book) string {
	return fmt.Sprintf("resolved from pricebook %s generation %d", b.Key, b.Generation)
}

// OriginIn finds the origin of a published price in the message of an earlier
// condition, or returns empty text.
func OriginIn(message string) string { return originText.FindString(message) }

// Published is the message of a price that stands: its origin, and whether the
// charges have moved away from it.
func Published(origin string, moved bool) string {
	if moved {
		return origin + newerRates
	}
	return origin
}

// StillPublished is the message of an Offering that is held although its price
// stands. It keeps the origin, which would be lost otherwise.
func StillPublished(message, origin string) string {
	if origin == "" {
		return message
	}
	return message + "; the published price was " + origin
}
