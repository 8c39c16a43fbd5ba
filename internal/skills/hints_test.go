package skills

import (
	"fmt"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
)

// The same is said once, and at most twenty things.
func TestHintsAreFew(t *testing.T) {
	var b blocked
	told := 0
	for range 3 {
		for i := range 2 * maxHints {
			for _, command := range []string{"cat", "ls"} {
				if b.isNew(event.SandboxHint{Kind: "outside", Path: fmt.Sprint("/mnt/", i), Command: command, Message: "m"}) {
					told++
				}
			}
		}
	}
	if told != maxHints || maxHints != 20 {
		t.Errorf("told %d of %d", told, maxHints)
	}
	var other blocked
	if !other.isNew(event.SandboxHint{Kind: "outside", Path: "x"}) || !other.isNew(event.SandboxHint{Kind: "hidden", Path: "x"}) || !other.isNew(event.SandboxHint{Kind: "network", Host: "x"}) {
		t.Error("different hints are taken for the same")
	}
}

// A connection is that of a command if no other can have made it. Refused hosts are those of every
// command that ran.
func TestWhichCommandAsked(t *testing.T) {
	var b blocked
	refuse := func(host, reason, want string) {
		t.Helper()
		if got := b.refuse(&egress.Access{Host: host, Reason: reason}); got != want {
			t.Errorf("%s is of %q, want %q", host, got, want)
		}
	}
	refuse("early.example", egress.ReasonDomain, "")
	first := b.start("/usr/bin/npm")
	refuse("a.example", egress.ReasonDomain, "npm")
	refuse("a.example", egress.ReasonDomain, "npm")
	refuse("p.example", egress.ReasonPort, "npm")
	second := b.start("curl")
	refuse("b.example", egress.ReasonDomain, "")
	if got := first(); !slices.Equal(got, []string{"a.example", "b.example"}) {
		t.Errorf("the first was refused %q", got)
	}
	refuse("c.example", egress.ReasonDomain, "curl")
	for i := range 2 * maxRefused {
		refuse(fmt.Sprint(i, ".example"), egress.ReasonDomain, "curl")
	}
	if got := second(); len(got) != maxRefused || got[0] != "b.example" || got[1] != "c.example" {
		t.Errorf("the second was refused %q", got)
	}
	refuse("late.example", egress.ReasonDomain, "")
}
