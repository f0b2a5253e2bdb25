package replay

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// The recorded item that made-up ones are copies of, and how many of them
// share a namespace.
const (
	templateItem      = "shop/web-7d4b9c6f5d-k8x2p/app"
	templateNamespace = "shop"
	templatePod       = "web-7d4b9c6f5d-k8x2p"
	itemsPerNamespace = 50
)

// templateNames are the places where an item says who it is.
var templateNames = regexp.MustCompile(
	`"` + templateItem + `"|"namespace":"` + templateNamespace + `"|"pod":"` + templatePod + `"`)

// writeWith tells the recording and adds made-up items to it, one by one, so
// that an hour of any size costs no memory. They come last, and sort last.
func (r recording) writeWith(w io.Writer, hour time.Time, items int) error {
	var set bytes.Buffer
	if err := r.writeTo(&set, hour); err != nil {
		return err
	}
	template, err := itemText(set.Bytes())
	if err != nil {
		return err
	}
	if _, err := w.Write(bytes.TrimSuffix(set.Bytes(), []byte("}"))); err != nil {
		return err
	}
	between := templateNames.Split(template, -1)
	names := templateNames.FindAllString(template, -1)
	for i := range items {
		if err := writeItem(w, between, names, i); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "}")
	return err
}

// itemText cuts `,"<key>":{…}` of the template item out of a set. Recorded keys
// are sorted, so the item ends where the next one begins.
func itemText(set []byte) (string, error) {
	begin := bytes.Index(set, []byte(`,"`+templateItem+`":{`))
	if begin < 0 {
		return "", fmt.Errorf("cannot make up items: the recording has no item %q", templateItem)
	}
	rest := string(set[begin+1:])
	end := strings.Index(rest, `},"`+templateNamespace+`/`)
	if end < 0 {
		return "", fmt.Errorf("cannot make up items: nothing follows item %q", templateItem)
	}
	return "," + rest[:end+1], nil
}

func writeItem(w io.Writer, between, names []string, i int) error {
	namespace := fmt.Sprintf("zz-load-%05d", i/itemsPerNamespace)
	pod := fmt.Sprintf("worker-%07d", i)
	for n, text := range between {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if n == len(names) {
			break
		}
		var err error
		switch {
		case strings.HasPrefix(names[n], `"namespace"`):
			_, err = fmt.Fprintf(w, `"namespace":"%s"`, namespace)
		case strings.HasPrefix(names[n], `"pod"`):
			_, err = fmt.Fprintf(w, `"pod":"%s"`, pod)
		default:
			_, err = fmt.Fprintf(w, `"%s/%s/app"`, namespace, pod)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
