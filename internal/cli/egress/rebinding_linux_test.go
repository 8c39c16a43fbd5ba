package egress

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Squid looks a name up to judge it, and takes what it kept of the answer to dial. A name
// server that changes its mind with every question must not come between the two, however
// often somebody asks. Here answers are kept for a second instead of thirty, so that many
// run out while requests are judged.
func TestSquidRebindingUnderFire(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "/usr/sbin/squid", "/bin/sh", "sed")
	if !onIsland(t) {
		return
	}
	land, names := newShore(t), newLiar(t)
	var turns []told
	for range 1000 {
		turns = append(turns, told{four: []string{webAddress}}, told{four: []string{metadata}})
	}
	names.tell("api.exa.test", turns...)
	hasty := filepath.Join(t.TempDir(), "hasty")
	script := "#!/bin/sh\nsed -i -e 's/^negative_dns_ttl .*/negative_dns_ttl 1 second/' -e 's/^positive_dns_ttl .*/positive_dns_ttl 1 second/' \"$5\"\nexec squid \"$@\"\n"
	if err := os.WriteFile(hasty, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	p := startWith(t, Options{Squid: hasty, DNS: []string{"127.0.0.1"}, Listen: "127.0.0.1:3128", Allow: []string{"api.exa.test"}, MaxConnections: 100}, nil)
	p.next()
	go func() {
		for range p.lines { // somebody has to take them
			continue
		}
	}()
	const answers = 8
	enough := make(chan struct{})
	var all sync.WaitGroup
	counts := make([]map[int]int, 8)
	for i := range counts {
		counts[i] = map[int]int{}
		all.Go(func() {
			for {
				select {
				case <-enough:
					return
				default:
				}
				conn, err := net.Dial("tcp", "127.0.0.1:3128")
				if err != nil {
					continue
				}
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				_, _ = io.WriteString(conn, connect("api.exa.test"))
				if status, err := answered(conn); err == nil {
					counts[i][status]++
				}
				_ = conn.Close()
			}
		})
	}
	names.await("api.exa.test1", answers)
	close(enough)
	all.Wait()
	total := map[int]int{}
	for _, c := range counts {
		for status, n := range c {
			total[status] += n
		}
	}
	if total[http.StatusOK] == 0 || total[http.StatusForbidden] == 0 {
		t.Errorf("it was not tried: %v", total)
	}
	for _, at := range land.seen(t) {
		if at != webAddress {
			t.Fatalf("it came ashore at %s", at)
		}
	}
	t.Logf("%v answers in %d look-ups", total, answers)
}
