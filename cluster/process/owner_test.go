package process

import (
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
		"Later":   {reason: "Another process with the same id is not the owner.", text: Owner{os.Getpid(), self.started - 1, self.namespace}.String()},
		"Ended":   {reason: "A process that has ended owns nothing.", text: Owner{ended.PID(), self.started, self.namespace}.String()},
		"Foreign": {reason: "Nobody can tell about processes that are counted elsewhere.", text: Owner{os.Getpid(), self.started - 1, self.namespace + 1}.String(), lives: true},
		"Nothing": {reason: "Nothing names nobody.", text: "", bad: true},
		"Words":   {reason: "Nor do words.", text: "some-body-else", bad: true},
		"More":    {reason: "Nor what goes on.", text: self.String() + "-1", bad: true},
		"Half":    {reason: "An id alone may be anybody's.", text: "12", bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			owner, err := ParseOwner(tc.text)
			if diff := cmp.Diff(tc.bad, err != nil); diff != "" {
				t.Fatalf("%s\nrefused: -want, +got:\n%s%v", tc.reason, diff, err)
			}
			if diff := cmp.Diff(tc.lives, !tc.bad && owner.Lives()); diff != "" {
				t.Errorf("%s\nlives: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
