//go:build unix

package process

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopsWithin is how long the process can run on after a signal that stops it.
const stopsWithin = 200 * time.Millisecond

// AroundStop calls before when the user stops the process on its terminal (Ctrl-Z), and after when it
// continues, until undo is called.
func AroundStop(before, after func()) (undo func()) {
	stops, continued := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTSTP)
	signal.Notify(continued, syscall.SIGCONT)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range stops {
			before()
			// Go cannot give SIGTSTP back its meaning. This signal has the same one, and unlike
			// SIGSTOP, the kernel ignores it where no shell could continue the process.
			_ = syscall.Kill(os.Getpid(), syscall.SIGTTIN)
			select {
			case <-continued:
			case <-time.After(stopsWithin):
			}
			after()
		}
	}()
	return func() {
		signal.Stop(stops)
		signal.Stop(continued)
		close(stops)
		<-done
	}
}
