package host

import (
	"io"
	"sync"
)

// A diversion is a writer that leads elsewhere for a while.
type diversion struct {
	mu sync.Mutex
	to io.Writer
}

func (d *diversion) Write(data []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.to.Write(data)
}

// DivertStderr sends standard error to w until back is called: a program that has the screen for
// itself shows the lines in its own way. It works for everything that has Stderr already, if
// [Host.GuardStderr] was called before.
func (h *Host) DivertStderr(w io.Writer) (back func()) {
	return h.WrapStderr(func(io.Writer) io.Writer { return w })
}

// WrapStderr is [Host.DivertStderr] to a writer that can write to where standard error leads now.
func (h *Host) WrapStderr(wrap func(io.Writer) io.Writer) (back func()) {
	d := &h.errors
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.to
	d.to = wrap(before)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.to = before
	}
}
