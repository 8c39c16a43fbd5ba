//go:build unix

package sandbox

import "golang.org/x/sys/unix"

// killAll kills all programs whose disk is limited, for a reason that becomes [Outcome.Exceeded].
func (s *Supervisor) killAll(reason string) {
	for _, l := range s.currentLinks() {
		l.mu.Lock()
		var ids []uint64
		for id, c := range l.children {
			if c.confined || len(s.openDirs) > 0 {
				ids = append(ids, id)
			}
		}
		l.mu.Unlock()
		for _, id := range ids {
			if err := l.send(&message{kind: kindSignal, id: id, signal: uint64(unix.SIGKILL), text: reason}); err != nil && !l.released.Load() {
				l.abandon()
				break
			}
		}
	}
}

// processes lists the processes of all programs.
func (s *Supervisor) processes() (pids []int) {
	for _, l := range s.currentLinks() {
		pids = append(pids, l.descendants()...)
	}
	return pids
}
