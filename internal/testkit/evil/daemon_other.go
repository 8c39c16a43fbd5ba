//go:build !unix

package evil

import (
	"context"
	"errors"
	"os"
)

var errUnix = errors.New("sessions, locks and signals of this kind exist on Unix only")

// Daemonise needs Unix.
func Daemonise(context.Context, string, string) error { return errUnix }

// Heartbeat needs Unix.
func Heartbeat(context.Context, string) error { return errUnix }

// ForkBomb needs Unix.
func ForkBomb(context.Context, string, string, int) error { return errUnix }

// Alive needs Unix.
func Alive(string) (bool, error) { return false, errUnix }

func forkAgain(string, string) error                      { return errUnix }
func splinter(context.Context, string, string, int) error { return errUnix }

func dieBySignal() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Kill()
}
