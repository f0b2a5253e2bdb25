package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// A told is an item of a set that was told, and what is looked at in it.
type told struct {
	Key  string          `json:"-"`
	Text json.RawMessage `json:"-"`

	Properties map[string]any `json:"properties"`
	Start      time.Time      `json:"start"`
	End        time.Time      `json:"end"`
}

// eachItem reads a set while it is being written, item by item, so that one of
// any size costs no memory.
func eachItem(write func(io.Writer) error, each func(told) error) error {
	from, to := io.Pipe()
	defer from.Close() //nolint:errcheck // It ends the writing.
	go func() { to.CloseWithError(write(to)) }()

	d := json.NewDecoder(from)
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("cannot read a set again: %w", err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("cannot read a set again: %w", err)
		}
		item := told{Key: fmt.Sprint(key)}
		if err := d.Decode(&item.Text); err != nil {
			return fmt.Errorf("cannot read item %q again: %w", item.Key, err)
		}
		if err := json.Unmarshal(item.Text, &item); err != nil {
			return fmt.Errorf("cannot read item %q again: %w", item.Key, err)
		}
		if err := each(item); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// writeKept writes the items of a set that pass a filter, each to the byte.
func (f filter) writeKept(w io.Writer, write func(io.Writer) error) error {
	separator := "{"
	err := eachItem(write, func(item told) error {
		if !f.keeps(item.Properties) {
			return nil
		}
		key, err := text(item.Key)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s%s:%s", separator, key, item.Text)
		separator = ","
		return err
	})
	if err != nil {
		return err
	}
	end := "}"
	if separator == "{" {
		end = "{}" // Nothing has passed.
	}
	_, err = io.WriteString(w, end)
	return err
}

// writeNamespaces writes which namespaces the items of a set belong to, and from
// when to when. That is what follows from them; quantities do not add up (their
// averages are over different times), so there are none.
func (f filter) writeNamespaces(w io.Writer, hour time.Time, write func(io.Writer) error) error {
	type item struct {
		Name       string            `json:"name"`
		Properties map[string]string `json:"properties"`
		Window     struct {
			Start time.Time `json:"start"`
			End   time.Time `json:"end"`
		} `json:"window"`
		Start   time.Time `json:"start"`
		End     time.Time `json:"end"`
		Minutes float64   `json:"minutes"`
	}
	set := map[string]*item{}
	err := eachItem(write, func(i told) error {
		if !f.keeps(i.Properties) {
			return nil
		}
		name, _ := i.Properties["namespace"].(string)
		name = cmp.Or(name, "__unallocated__")
		sum, known := set[name]
		if !known {
			sum = &item{Name: name, Properties: map[string]string{"namespace": name}, Start: i.Start, End: i.End}
			sum.Window.Start, sum.Window.End = hour, hour.Add(time.Hour)
			set[name] = sum
		}
		if i.Start.Before(sum.Start) {
			sum.Start = i.Start
		}
		if i.End.After(sum.End) {
			sum.End = i.End
		}
		sum.Minutes = sum.End.Sub(sum.Start).Minutes()
		return nil
	})
	if err != nil {
		return err
	}

	separator := ""
	if _, err := io.WriteString(w, "{"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		key, err := text(name)
		if err != nil {
			return err
		}
		value, err := json.Marshal(set[name])
		if err != nil {
			return fmt.Errorf("cannot write namespace %q: %w", name, err)
		}
		if _, err := fmt.Fprintf(w, "%s%s:%s", separator, key, value); err != nil {
			return err
		}
		separator = ","
	}
	_, err = io.WriteString(w, "}")
	return err
}

// text writes a text as the server does, which escapes nothing it need not.
func text(s string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("cannot write %q: %w", s, err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
