package process

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOwner(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	ended := shell(t, "exit 0")
	<-ended.Done()
	cases := map[string]struct {
		reason string
		text   string
		lives  bool
		bad    bool
	}{
		"Self":    {reason: "Whoever asks lives.", text: self.String(), lives: true},
		"Later":   {reason: "Another process with the same id is not the owner.", text: fmt.Sprintf("%d-%d", os.Getpid(), self.started-1)},
		"Ended":   {reason: "A process that has ended owns nothing.", text: fmt.Sprintf("%d-%d", ended.PID(), self.started)},
		"Nothing": {reason: "Nothing names nobody.", text: "", bad: true},
		"Words":   {reason: "Nor do words.", text: "some-body", bad: true},
		"Half":    {reason: "An id alone may be anybody's.", text: "12", bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			owner, err := ParseOwner(tc.text)
			if diff := cmp.Diff(tc.bad, err != nil); diff != "" {
				t.Fatalf("%s\nrefused: -want, +got:\n%s%v", tc.reason, diff, err)
			}
			if diff := cmp.Diff(tc.lives, owner.Lives()); diff != "" {
				t.Errorf("%s\nlives: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
