package egress

import (
	"net"
	"slices"
	"sync"

	"golang.org/x/time/rate"
)

// slots counts the open connections. Each listener has a few slots of its own and shares the
// others, so that a skill that opens as many as it can does not block other skills.
type slots struct {
	mu     sync.Mutex
	own    int // for each listener
	shared int // that are free
	taken  []int
}

func newSlots(total, listeners int) *slots {
	own := min(16, total/(2*listeners))
	return &slots{own: own, shared: total - own*listeners, taken: make([]int, listeners)}
}

func (p *slots) take(listener int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[listener] >= p.own {
		if p.shared == 0 {
			return false
		}
		p.shared--
	}
	p.taken[listener]++
	return true
}

func (p *slots) leave(listener int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[listener]--
	if p.taken[listener] >= p.own {
		p.shared++
	}
}

// maxPending is how many clients of a listener may be connected without having sent their
// request. Sending it takes milliseconds.
const maxPending = 32

// pendingConns are the connections of a listener without a request yet. When there are too
// many, the oldest is closed: a client that opens connections and sends nothing does not
// block others.
type pendingConns struct {
	mu      sync.Mutex
	waiting []net.Conn
}

func (d *pendingConns) enter(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) >= maxPending {
		_ = d.waiting[0].Close()
		d.waiting = d.waiting[1:]
	}
	d.waiting = append(d.waiting, conn)
}

// leave reports whether the connection was still pending, and not evicted.
func (d *pendingConns) leave(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.waiting, conn)
	if i < 0 {
		return false
	}
	d.waiting = slices.Delete(d.waiting, i, i+1)
	return true
}

// A listener takes this many requests at once, and this many a second after that. Every
// request is a line in the journal, and a client must not be able to fill the disk.
const (
	burst     = 500
	perSecond = 20
)

func newRateLimiter() *rate.Limiter { return rate.NewLimiter(perSecond, burst) }
