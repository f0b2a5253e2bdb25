package hour

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClocksGoBack runs every hour of a night in which the clocks of a zone go
// back, and of one in which they go forward: the runs at 02:00 are two and none,
// and each works on an hour of its own, without a hole.
func TestClocksGoBack(t *testing.T) {
	for night, texts := range map[string][]string{
		"Back":    {"2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"},
		"Forward": {"2026-03-29T00:00:00+01:00", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"},
	} {
		t.Run(night, func(t *testing.T) {
			first := at(texts[0])
			var got, want []time.Time
			for n, text := range texts {
				pinned, _, err := Pin(Hint{Scheduled: text}, at(text))
				if err != nil {
					t.Fatal(err)
				}
				got, want = append(got, pinned), append(want, first.Add(time.Duration(n)*Length).UTC())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the hours of the night: -want, +got:\n%s", diff)
			}
		})
	}
}
