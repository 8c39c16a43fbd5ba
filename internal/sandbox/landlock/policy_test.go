package landlock_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
)

func TestPolicyAsText(t *testing.T) {
	for _, c := range []*landlock.Policy{
		{},
		{Read: []string{"/usr", "/with \"quotes\"\n"}, Write: []string{"/tmp/a"}, Ports: []uint16{1, 65535}, MaxTasks: 128},
	} {
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := landlock.Decode(text)
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

func TestPolicyRefused(t *testing.T) {
	for _, tt := range []struct {
		text, want string
	}{
		{`{"read":["relative"]}`, "absolute and clean"},
		{`{"write":["/a/../b"]}`, "absolute and clean"},
		{`{"write":["/a/"]}`, "absolute and clean"},
		{`{"write":[""]}`, "absolute and clean"},
		{`{"read":["/a\u0000b"]}`, "absolute and clean"},
		{`{"ports":[0]}`, "port 0"},
		{`{"ports":[65536]}`, "cannot be read"},
		{`{"maxTasks":-1}`, "negative number of processes"},
		{`{"exec":["/bin"]}`, "cannot be read"}, // of a newer version, and not to be passed over
		{`{"read":["/a"],"read":["/b"]}`, "cannot be read"},
		{`{} {}`, "cannot be read"},
		{``, "cannot be read"},
	} {
		if c, err := landlock.Decode(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v", tt.text, c, err)
		}
	}
	if text, err := (&landlock.Policy{Write: []string{"."}}).Encode(); err == nil {
		t.Errorf("became %s", text)
	}
}

// Whatever arrives is a valid policy or an error.
func FuzzDecode(f *testing.F) {
	f.Add(`{"read":["/usr"],"write":["/tmp"],"ports":[80],"maxTasks":1}`)
	f.Add(`{"read":["../x"]}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := landlock.Decode(text)
		if err != nil {
			return
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%q became a policy that is not valid: %v", text, err)
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := landlock.Decode(again); err != nil {
			t.Errorf("%q became %q: %v", text, again, err)
		}
	})
}
