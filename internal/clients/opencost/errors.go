package opencost

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of answers that are refused.
var (
	// ErrStatus is an HTTP status other than 200.
	ErrStatus = errors.New("the request was refused")

	// ErrCode is an error that OpenCost reports under HTTP status 200.
	ErrCode = errors.New("the answer reports an error")

	// ErrBroken is a body that is not exactly one whole JSON document: empty,
	// cut off, HTML, something after its end, a name that occurs twice in an
	// object, text that is not UTF-8.
	ErrBroken = errors.New("the answer is not one whole JSON document")

	// ErrShape is a document that is not an answer with one set of items.
	ErrShape = errors.New("the answer does not hold one set of allocations")

	// ErrWindow is a set of another window than was asked for.
	ErrWindow = errors.New("the answer is for another window")

	// ErrItem is an item with a value that cannot be stored.
	ErrItem = errors.New("the answer holds an item that cannot be used")

	// ErrTooLarge is an answer, or a single value in one, beyond its bound.
	ErrTooLarge = errors.New("the answer is too large")
)

// An AnswerError says what was wrong with an answer.
type AnswerError struct {
	Kind    error  // One of the kinds above.
	Detail  string // What exactly, naming the item and the field if it is one.
	Offset  int64  // In bytes from the start of the answer.
	Snippet string // How the answer began, for the log.
	Cause   error  // What stopped the reading, if it was not the answer itself.
}

// Error says it in one line.
func (e *AnswerError) Error() string {
	var s strings.Builder
	s.WriteString(e.Kind.Error())
	if e.Offset > 0 {
		fmt.Fprintf(&s, " (at byte %d)", e.Offset)
	}
	if e.Detail != "" {
		s.WriteString(": " + e.Detail)
	}
	if e.Snippet != "" {
		fmt.Fprintf(&s, "; it begins %q", e.Snippet)
	}
	return s.String()
}

// Unwrap gives the kind of the error and its cause.
func (e *AnswerError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
