package inside

import (
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
)

// A voice says what is not asked of the host. The end is the last line, and whoever has
// something to say later is too late: the host would take it for an attack.
type voice struct {
	mu   sync.Mutex
	over bool
	send func(hostlink.Up) error
}

func (v *voice) say(up hostlink.Up) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return nil
	}
	return v.send(up)
}

func (v *voice) end(e *hostlink.End) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	return v.send(hostlink.Up{End: e})
}

// pulse is how often the host hears that we live.
const pulse = 5 * time.Second

// beat tells the host that we live, until the work is done: also while it is being saved.
func (v *voice) beat(done <-chan struct{}) {
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if v.say(hostlink.Up{Alive: true}) != nil {
				return // the job finds out by itself
			}
		case <-done:
			return
		}
	}
}
