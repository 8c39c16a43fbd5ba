//go:build unix

package file

import (
	"os/exec"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/store/storetest"
)

// A program that starts others while it closes a journal can open it again at once.
func TestOpenAgainBesideForks(t *testing.T) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = exec.Command("true").Run() // whatever becomes of it
				}
			}
		})
	}
	s := New(t.TempDir(), nil)
	defer wg.Wait()
	defer close(done)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for i := range rounds {
		j := mustOpen(t, s)
		if i == 0 {
			mustAppend(t, j, storetest.Sample("job1")...)
		}
		mustClose(t, j)
	}
}
