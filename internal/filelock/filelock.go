// Package filelock takes locks on open files. A lock belongs to the open file, not to the process:
// two opens in one process exclude each other. The system releases it when the process dies.
package filelock

import (
	"context"
	"os"
	"time"
)

// interval is how often a lock is tried that another process has.
const interval = 10 * time.Millisecond

// Wait takes the exclusive lock of an open file. If another process keeps it until ctx ends, the error is
// that of ctx.
func Wait(ctx context.Context, f *os.File) error {
	for {
		if ok, err := Try(f, true); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(interval):
		}
	}
}
