package opencost

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A reader walks through one value of which is known that it is well formed: the
// tokenizer has looked at every byte of it before. So it checks nothing again,
// and finds its way by quotes and brackets alone.
//
// One thing it does find that the tokenizer was told not to look for: names that
// occur twice in an object, however deep, read or skipped.
type reader struct {
	left []byte // What is still to be read.

	seed   maphash.Seed
	hashes []uint64 // Of the names of the objects that are open, one after another.
	twice  bool     // Two names of one object have one hash.
}

func (r *reader) reset(value []byte) {
	r.left, r.hashes, r.twice = value, r.hashes[:0], false
}

// kind is the first character of the value that comes next.
func (r *reader) kind() byte {
	r.separators()
	return r.left[0]
}

// separators stand between values. Of a well-formed text one knows which.
func (r *reader) separators() {
	for n, c := range r.left {
		switch c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			r.left = r.left[n:]
			return
		}
	}
}

// An object is one that is being read. Null is one without members.
type object struct {
	open  bool
	names int // Where the hashes of its names begin.
}

func (r *reader) object(member string) (object, error) {
	switch r.kind() {
	case '{':
		r.left = r.left[1:]
		return object{open: true, names: len(r.hashes)}, nil
	case 'n':
		r.skip()
		return object{}, nil
	default:
		return object{}, &kindError{member, abbreviate(string(r.raw())) + " is no object"}
	}
}

// more says whether another member follows, and leaves the object if not.
func (r *reader) more(o object) bool {
	if !o.open {
		return false
	}
	if r.kind() != '}' {
		return true
	}

	r.left = r.left[1:]
	names := r.hashes[o.names:]
	slices.Sort(names)
	for n := 1; n < len(names); n++ {
		r.twice = r.twice || names[n] == names[n-1]
	}
	r.hashes = r.hashes[:o.names]
	return false
}

// name reads the name of a member.
func (r *reader) name() []byte {
	r.separators()
	name := r.text()
	r.hashes = append(r.hashes, maphash.Bytes(r.seed, name))
	return name
}

// text reads a text, and returns what it says.
func (r *reader) text() []byte {
	quoted, escaped := r.quoted()
	if !escaped {
		return quoted[1 : len(quoted)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return text
}

// quoted reads a text as it stands.
func (r *reader) quoted() (quoted []byte, escaped bool) {
	end := 1 + bytes.IndexByte(r.left[1:], '"')
	if escaped = bytes.IndexByte(r.left[:end], '\\') >= 0; escaped {
		for end = 1; r.left[end] != '"'; end++ {
			if r.left[end] == '\\' {
				end++
			}
		}
	}
	quoted, r.left = r.left[:end+1], r.left[end+1:]
	return quoted, escaped
}

// raw reads a value as it stands.
func (r *reader) raw() []byte {
	r.separators()
	value := r.left
	r.skip()
	return value[:len(value)-len(r.left)]
}

// skip passes over a value.
func (r *reader) skip() {
	switch r.kind() {
	case '{':
		for o, _ := r.object(""); r.more(o); r.skip() {
			r.name()
		}
	case '[':
		for r.left = r.left[1:]; r.kind() != ']'; {
			r.skip()
		}
		r.left = r.left[1:]
	case '"':
		r.quoted()
	default:
		end := 0
		for end < len(r.left) && !ends(r.left[end]) {
			end++
		}
		r.left = r.left[end:]
	}
}

// ends says whether a character cannot be one of a number or a word.
func ends(c byte) bool {
	switch c {
	case ',', ']', '}', ' ', '\t', '\n', '\r':
		return true
	default:
		return false
	}
}
