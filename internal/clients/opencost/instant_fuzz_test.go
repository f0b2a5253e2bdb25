package opencost

import (
	"testing"
	"time"
)

// FuzzInstant reads timestamps: the quick way for the ends of the window tells
// the same as the standard library, and a window is known again in any zone.
func FuzzInstant(f *testing.F) {
	for _, text := range []string{
		"2026-11-29T10:00:00Z", "2026-11-29T11:00:00Z", "2026-11-29T15:30:00+05:30", "2026-11-29T10:00:00.000Z", "2026-11-29T10:00:00,5Z",
		"", "null", "2026-11-29T10:00:00", "2026-11-29 10:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "2026-11-29T24:00:00Z",
	} {
		f.Add(text)
	}
	q := ask(hour10)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := q.instant([]byte(text))
		want, wantErr := time.Parse(time.RFC3339, text)
		if (err == nil) != (wantErr == nil) || err == nil && !got.Equal(want) {
			t.Fatalf("instant(%q) = %s, %v; want %s, %v", text, got, err, want, wantErr)
		}
		if err != nil {
			return
		}
		elsewhere := got.In(time.FixedZone("", -9*3600-1800)).Format(time.RFC3339Nano)
		if is := q.is(hour10.Start, []byte(text)); is != got.Equal(hour10.Start) || is != q.is(hour10.Start, []byte(elsewhere)) {
			t.Fatalf("whether %q is the start of the window depends on its zone: %t", text, is)
		}
	})
}
