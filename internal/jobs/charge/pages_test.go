package charge

import "testing"

// TestPageIsWeighed sizes the next page by what the last one has allocated.
func TestPageIsWeighed(t *testing.T) {
	cases := map[string]struct {
		reason string
		limit  int64
		bytes  uint64
		want   int64
	}{
		"Light":      {reason: "Light objects come as many at a time as ever.", limit: firstPage, bytes: 50 << 10, want: largestPage},
		"Weightless": {reason: "An empty list says nothing of what is heavy.", limit: firstPage, bytes: 0, want: largestPage},
		"AsWished":   {reason: "A page of the right weight is followed by one of the same size.", limit: 100, bytes: pageWeight, want: 100},
		"Heavy":      {reason: "Objects that are four times as heavy come a quarter at a time.", limit: 100, bytes: 4 * pageWeight, want: 25},
		"Heaviest":   {reason: "One object is read however heavy it is.", limit: 2, bytes: 1000 * pageWeight, want: 1},
		"LightAgain": {reason: "After one that was heavy the light ones come faster again.", limit: 1, bytes: pageWeight / 50, want: 50},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := page{limit: c.limit}
			if p.weighed(c.bytes); p.limit != c.want {
				t.Errorf("%s: want %d, got %d", c.reason, c.want, p.limit)
			}
		})
	}
}
