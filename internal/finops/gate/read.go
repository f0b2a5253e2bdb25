package gate

import "errors"

// errNotRead is the answer of a Read that nobody made.
var errNotRead = errors.New("not read")

// A Read is what reading something came to: it was found, it is proved not to
// exist, or nobody knows. The zero Read was never made, and tells nothing.
type Read[T any] struct {
	value T
	state state
	err   error
}

type state int

const (
	unread state = iota
	found
	gone
)

// Found is a Read of something that exists.
func Found[T any](value T) Read[T] { return Read[T]{value: value, state: found} }

// Gone is a Read of something that the server said does not exist.
func Gone[T any]() Read[T] { return Read[T]{state: gone} }

// Failed is a Read that did not work. It is not evidence of anything.
func Failed[T any](err error) Read[T] { return Read[T]{err: err} }

// Get returns what was found, nil if it is proved not to exist, and an error if
// neither is known.
func (r Read[T]) Get() (*T, error) {
	switch r.state {
	case found:
		return &r.value, nil
	case gone:
		return nil, nil //nolint:nilnil // Three answers; this one is "it does not exist".
	case unread:
		if r.err != nil {
			return nil, r.err
		}
	}
	return nil, errNotRead
}
