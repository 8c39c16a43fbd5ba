package egress

import (
	"context"
	"sync"
	"time"
)

// A gate takes so many requests at once, and so many a second after that. Every request
// is a line that somebody keeps: who asks without end must not fill a disk.
const (
	burst = 500
	rate  = 20
)

// A pace makes those wait who come too often. The zero value has taken nothing yet.
type pace struct {
	mu    sync.Mutex
	spent float64 // of the burst
	last  time.Time
}

// wait returns when it is the caller's turn, or when the context ends.
func (p *pace) wait(ctx context.Context) {
	p.mu.Lock()
	now := time.Now()
	p.spent = max(0, p.spent-now.Sub(p.last).Seconds()*rate) + 1
	p.last = now
	over := p.spent - burst
	p.mu.Unlock()
	if over <= 0 {
		return
	}
	turn := time.NewTimer(time.Duration(over / rate * float64(time.Second)))
	defer turn.Stop()
	select {
	case <-turn.C:
	case <-ctx.Done():
	}
}
