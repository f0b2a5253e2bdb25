package opencost

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A decoder reads one answer. The tokens come from a decoder that is strict by
// itself: it refuses names that occur twice in an object, text that is not
// UTF-8, and an end of input anywhere but after the whole document. (That of
// the standard library's first generation lets all three pass.)
//
// One thing it is told to let pass: to know the names of a set it would hold
// every one of them, which is most of what a run needs in memory. So the items
// are read as they come, with all its strictness inside of each, and their keys
// are told apart by their hashes.
type decoder struct {
	*jsontext.Decoder

	asked *asked
	each  func(Allocation) bool
	items reader

	seed maphash.Seed
	seen map[uint64]struct{} // Hashes of the keys that were asked for.

	stopped bool // The reader has seen enough.
}

// decode reads an answer and hands each of its items over. It returns nil only
// for a whole answer, or if each said that it wants no more.
func decode(b *body, q Query, each func(Allocation) bool) *AnswerError {
	seed := maphash.MakeSeed()
	d := &decoder{
		Decoder: jsontext.NewDecoder(b, jsontext.AllowDuplicateNames(true)),
		asked:   ask(q),
		each:    each,
		items:   reader{seed: seed},
		seed:    seed,
		seen:    map[uint64]struct{}{},
	}
	b.consumed = d.InputOffset

	err := d.answer()
	if err == nil || d.stopped {
		return nil
	}
	if b.err != nil {
		// Whatever the decoder made of it, this is why it got no further.
		err = b.err
	}

	if refused := (*AnswerError)(nil); errors.As(err, &refused) {
		refused.Offset = d.InputOffset()
		return refused
	}
	return &AnswerError{Kind: ErrBroken, Detail: reason(err), Offset: d.InputOffset(), Cause: b.err}
}

// answer reads the envelope. Its members may come in any order, so the code is
// looked at when it comes and missed only at the end.
func (d *decoder) answer() error {
	if err := d.enter('{', "the answer"); err != nil {
		return err
	}

	var hasCode, hasData bool
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}

		switch member := name.String(); {
		case member == "code" && !hasCode:
			hasCode = true
			err = d.code()
		case member == "data" && !hasData:
			hasData = true
			err = d.data()
		case member == "code" || member == "data":
			err = fmt.Errorf("it has %q twice", member)
		default:
			err = d.SkipValue()
		}
		if err != nil || d.stopped {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}

	switch _, err := d.ReadToken(); {
	case err == nil:
		return errors.New("something follows the document")
	case err != io.EOF: //nolint:errorlint // Only io.EOF itself is a clean end.
		return fmt.Errorf("something follows the document: %w", err)
	case !hasCode:
		return &AnswerError{Kind: ErrCode, Detail: "it has no code"}
	case !hasData:
		return &AnswerError{Kind: ErrShape, Detail: "it has no data"}
	}
	return nil
}

func (d *decoder) code() error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if code := string(value); code != fmt.Sprint(http.StatusOK) {
		return &AnswerError{Kind: ErrCode, Detail: "code " + abbreviate(code)}
	}
	return nil
}

// data reads the sets. OpenCost says "nothing" in four ways: null, no set, a set
// that is null and a set without items.
func (d *decoder) data() error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if err := d.enter('[', "data"); err != nil {
		return err
	}

	for sets := 0; d.PeekKind() != ']'; sets++ {
		if sets > 0 && d.PeekKind() != 0 {
			return &AnswerError{Kind: ErrShape, Detail: "it has more than one set"}
		}
		if err := d.set(); err != nil || d.stopped {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (d *decoder) set() error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if err := d.enter('{', "a set"); err != nil {
		return err
	}

	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}

		name := key.String()
		allocation, err := d.item(name)
		if err != nil {
			return err
		}
		if !d.wants(allocation) {
			if d.asked.Foreign != nil {
				d.asked.Foreign(allocation.Namespace)
			}
			continue
		}
		if !d.first(name) {
			return fmt.Errorf("it has item %q twice", abbreviate(name))
		}
		if !d.each(allocation) {
			d.stopped = true
			return nil
		}
	}
	_, err := d.ReadToken()
	return err
}

// wants says whether an item was asked for. One without a namespace is asked for
// by the name that the server has for that.
func (d *decoder) wants(a Allocation) bool {
	if d.asked.wanted == nil {
		return true
	}
	_, asked := d.asked.wanted[cmp.Or(a.Namespace, unallocated)]
	return asked
}

// first says whether a key has not occurred before. Of a billion answers of the
// largest size that is accepted, one has two keys with one hash; it is refused,
// and accepted when it is read again with another seed.
func (d *decoder) first(key string) bool {
	hash := maphash.String(d.seed, key)
	_, again := d.seen[hash]
	d.seen[hash] = struct{}{}
	return !again
}

// item reads the item of a key.
func (d *decoder) item(key string) (Allocation, error) {
	value, err := d.ReadValue()
	if err != nil {
		return Allocation{}, err
	}

	var i item
	d.items.reset(value)
	err = i.read(&d.items)
	if d.items.twice {
		// One name twice, or two with one hash: who remembers names can tell.
		if err := jsontext.NewDecoder(bytes.NewReader(value)).SkipValue(); err != nil {
			return Allocation{}, err
		}
	}
	if err != nil {
		return Allocation{}, &AnswerError{Kind: ErrItem, Detail: fmt.Sprintf("item %q: %s", abbreviate(key), err)}
	}
	return i.allocation(key, d.asked)
}

// enter reads the opening of an object or array.
func (d *decoder) enter(kind jsontext.Kind, what string) error {
	got := d.PeekKind()
	if got != kind && got != 0 {
		return &AnswerError{Kind: ErrShape, Detail: fmt.Sprintf("%s begins with %s", what, got)}
	}

	_, err := d.ReadToken() // Of nothing to peek at it says why.
	if err == io.EOF {      //nolint:errorlint // As above.
		return errors.New("it is empty")
	}
	return err
}

// reason is the text of an error of the tokenizer, without what it says about
// itself.
func reason(err error) string {
	if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) && syntactic.Err != nil {
		err = syntactic.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it is cut off"
	}
	return abbreviate(err.Error())
}

// abbreviate keeps a hostile text out of a message.
func abbreviate(text string) string {
	const limit = 200
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
