package landlock_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// A confined program is killed first when memory is short, and the number of its open files
// is limited.
func TestLowerPriority(t *testing.T) {
	needLandlock(t)
	own := t.TempDir()
	out, err := newSupervisor(t).Run(t.Context(), sandbox.Command{
		Program: "sh", Args: []string{"-c", "read score < /proc/self/oom_score_adj; echo $score $(ulimit -Hn)"},
		Dir: own, Environ: []string{"PATH=/usr/bin:/bin"}, Policy: policyFor(t, own, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.Stdout.String()); got != "500 4096" {
		t.Errorf("%q %s", got, out.Stderr.String())
	}
}
