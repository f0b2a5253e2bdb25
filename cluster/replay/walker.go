package replay

import (
	"encoding/json"
	"fmt"
)

// A walker steps through the string values of a JSON document and knows the
// keys that lead to each.
type walker struct {
	decoder *json.Decoder
	levels  []level
}

// A level is an object or an array that has been entered.
type level struct {
	array bool
	key   string // The member being read.
	named bool   // Whether key has been read and its value has not.
}

// next returns the next string value and its path, io.EOF after the last.
// Array elements have their array's path.
func (w *walker) next() (path []string, value string, err error) {
	for {
		token, err := w.decoder.Token()
		if err != nil {
			return nil, "", err
		}
		if w.takeKey(token) {
			continue
		}
		switch t := token.(type) {
		case json.Delim:
			w.enterOrLeave(t)
		case string:
			path := w.path()
			w.valueRead()
			if len(path) == 0 {
				return nil, "", fmt.Errorf("the document is the string %q, want an object", t)
			}
			return path, t, nil
		default:
			w.valueRead()
		}
	}
}

// takeKey says whether the token is a member's name rather than a value.
func (w *walker) takeKey(token json.Token) bool {
	if len(w.levels) == 0 {
		return false
	}
	top := &w.levels[len(w.levels)-1]
	name, isString := token.(string)
	if top.array || top.named || !isString {
		return false
	}
	top.key, top.named = name, true
	return true
}

func (w *walker) enterOrLeave(d json.Delim) {
	switch d {
	case '{', '[':
		w.levels = append(w.levels, level{array: d == '['})
	default:
		w.levels = w.levels[:len(w.levels)-1]
		w.valueRead()
	}
}

func (w *walker) valueRead() {
	if len(w.levels) > 0 {
		w.levels[len(w.levels)-1].named = false
	}
}

func (w *walker) path() []string {
	var path []string
	for _, l := range w.levels {
		if !l.array {
			path = append(path, l.key)
		}
	}
	return path
}
