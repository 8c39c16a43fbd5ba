//go:build root && linux

package sandbox

import (
	"fmt"
	"os"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// A program still sees itself in /proc when the kernel has dropped everything that is not in use.
func TestRootPolicyStaysVisible(t *testing.T) {
	c := confined(t, shell(t, `while read -r l; do for e in stat status maps cgroup mountinfo; do if read -r l </proc/self/$e; then echo seen; else echo unseen; fi; done; done`))
	s := server(c)
	s.Policy = c.Policy
	r := started(t, supervisor(t), s)
	for range 2 {
		fmt.Fprintln(r.Stdin, "look")
		for range 5 {
			if got := line(t, r.Stdout); got != "seen" {
				t.Errorf("it says %q", got)
			}
		}
		const namesAndFiles = "2"
		if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte(namesAndFiles), 0); err != nil {
			testkit.Missing(t, "a kernel that can be told to forget: "+err.Error())
		}
	}
}
