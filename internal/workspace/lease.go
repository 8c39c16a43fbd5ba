package workspace

import "sync"

// A lease keeps something open while calls use it. A descriptor that were closed under
// a call could be another file's by the time the call uses it.
type lease struct {
	mu    sync.Mutex
	users int
	ended bool
}

// use reports whether the thing is still open, and then keeps it so until done.
func (l *lease) use() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.users++
	return true
}

// done ends a use. It reports whether the thing is to be closed: it was the last use
// of something that has ended.
func (l *lease) done() (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	return l.users == 0 && l.ended
}

// end allows no further use. Only the first call is told so, and whether the thing is
// to be closed now; if not, the last use will be.
func (l *lease) end() (first, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.ended
	l.ended = true
	return first, first && l.users == 0
}
