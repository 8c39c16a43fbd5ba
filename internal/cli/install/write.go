package install

import (
	"bytes"

	"github.com/perstack-go/perstack/internal/lockfile"
)

// write puts the lockfile in its place. One that says the same as before keeps its time,
// so that installing twice changes nothing.
func (p *project) write(lock, old *lockfile.Lock) error {
	if old != nil {
		lock.GeneratedAt = old.GeneratedAt
		if bytes.Equal(lock.Encode(), old.Encode()) {
			p.say("Generated %s (nothing changed)", lock.Path)
			return nil
		}
	}
	lock.GeneratedAt = p.opts.Host.Source.Now().UnixMilli()
	if err := lock.Write(lock.Path); err != nil {
		return err
	}
	p.say("Generated %s", lock.Path)
	return nil
}
