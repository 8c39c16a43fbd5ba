package sandbox

import "sync"

// A Tracker knows which commands are running. Whoever may have to end the process
// without waiting for them (a second interrupt) owns one, hands it to [Command], and
// calls KillAll before it exits: groups of their own get no signal from the terminal,
// so what still runs would outlive us. The zero Tracker is ready; a nil one does nothing.
type Tracker struct {
	mu   sync.Mutex
	live map[*group]struct{}
	over bool
}

// KillAll kills every running command with all of its group, without a grace, and does
// not wait for their ends. Later commands are not started. One whose start is under way
// in another goroutine is killed as soon as it is known; it escapes if this process
// exits in that very instant.
func (t *Tracker) KillAll() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for g := range t.live {
		g.kill()
	}
}

func (t *Tracker) isOver() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

func (t *Tracker) add(g *group) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		g.kill()
	}
	if t.live == nil {
		t.live = make(map[*group]struct{})
	}
	t.live[g] = struct{}{}
}

func (t *Tracker) remove(g *group) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, g)
}
