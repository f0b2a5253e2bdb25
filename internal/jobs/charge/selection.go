package charge

import (
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
)

// A selection tells the usage sources of one object or mirror row from those of
// another, the zero one that there are none. The sources themselves are not kept,
// for an object may have any number of them: the usage is selected by those of the
// mirror row that the charges name, once it is known that it has the same.
type selection [sha256.Size]byte

// selectionOf identifies sources as the mirror stores them.
func selectionOf(given []v1alpha1.UsageSource) selection {
	sources := inputs.Sources(given)
	if len(sources) == 0 {
		return selection{}
	}
	hash := sha256.New()
	for _, s := range sources {
		for _, field := range []string{s.Kind, s.Name, s.Namespace} {
			field = postgres.Storable(field)
			length := binary.BigEndian.AppendUint64(nil, uint64(len(field)))
			_, _ = hash.Write(length) // It never fails.
			_, _ = io.WriteString(hash, field)
		}
	}
	return selection(hash.Sum(nil))
}

// some reports whether there is any source.
func (s selection) some() bool { return s != selection{} }
