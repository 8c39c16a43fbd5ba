package inside

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
)

// Finding T18: a host that says nothing is gone, even if the link stays open, as it does when
// the Docker daemon is killed. Any line counts as a heartbeat.
func TestAwaitEnd(t *testing.T) {
	const limit, lines = time.Minute, 100
	for name, test := range map[string]struct {
		closes bool
		want   time.Duration
	}{
		"a silent host":         {false, lines*hostlink.Pulse + limit + secondLook},
		"a link that is closed": {true, lines * hostlink.Pulse},
	} {
		synctest.Test(t, func(t *testing.T) {
			in, stdin := io.Pipe()
			go func() {
				down := hostlink.NewWriter(stdin)
				_ = down.Write(hostlink.Down{Document: &hostlink.Document{Protocol: hostlink.Protocol}})
				for range lines {
					time.Sleep(hostlink.Pulse)
					_ = down.Write(hostlink.Down{Alive: true})
				}
				if test.closes {
					_ = stdin.Close()
				}
			}()
			conn, err := hostlink.Dial(in, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			go func() { _ = conn.Serve() }()
			awaitEnd(conn, limit)
			if took := time.Since(begin); took != test.want {
				t.Errorf("%s: gone after %s, want %s", name, took, test.want)
			}
			_ = stdin.Close()
		})
	}
}
