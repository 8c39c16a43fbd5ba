package egress

import (
	"net"
	"slices"
	"sync"
)

// places counts the connections that are open. Each gate has a few places of its own and
// shares the others, so that one skill that opens all it can does not shut out the rest.
type places struct {
	mu     sync.Mutex
	own    int // for each gate
	shared int // that are free
	taken  []int
}

func newPlaces(total, gates int) *places {
	own := min(16, total/(2*gates))
	return &places{own: own, shared: total - own*gates, taken: make([]int, gates)}
}

func (p *places) take(gate int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[gate] >= p.own {
		if p.shared == 0 {
			return false
		}
		p.shared--
	}
	p.taken[gate]++
	return true
}

func (p *places) leave(gate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[gate]--
	if p.taken[gate] >= p.own {
		p.shared++
	}
}

// maxDoorstep is how many clients of a gate may be about to say what they want. They need
// milliseconds for it.
const maxDoorstep = 32

// A doorstep holds the connections of a gate that have asked for nothing yet. When it is
// full, the one that has waited longest goes: who opens connections and says nothing
// shuts out nobody but himself.
type doorstep struct {
	mu      sync.Mutex
	waiting []net.Conn
	sent    map[net.Conn]bool // away, and not gone yet
}

func (d *doorstep) enter(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) >= maxDoorstep {
		oldest := d.waiting[0]
		d.waiting = d.waiting[1:]
		if d.sent == nil {
			d.sent = map[net.Conn]bool{}
		}
		d.sent[oldest] = true
		_ = oldest.Close()
	}
	d.waiting = append(d.waiting, conn)
}

// leave reports whether the connection was still welcome.
func (d *doorstep) leave(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sent[conn] {
		delete(d.sent, conn)
		return false
	}
	if i := slices.Index(d.waiting, conn); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	return true
}
