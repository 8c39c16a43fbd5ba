package probe

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Nameless is the way of keep that removes the names of its files while they are open.
const Nameless = "nameless"

// kept is longer than any watch of the disk waits between two looks.
const kept = 4 * time.Second

// keep takes so much of the disk with several files, so that a limit on the size of one does not
// stop it, and keeps them. The blocks are reserved and not written: gigabytes take no time.
func keep(ctx context.Context, how, name, text string) error {
	mib, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	const parts = 8
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for i := range parts {
		part := fmt.Sprintf("%s.%d", name, i)
		f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		files = append(files, f)
		if how == Nameless {
			if err := os.Remove(part); err != nil {
				return err
			}
		}
		if err := unix.Fallocate(int(f.Fd()), 0, 0, mib<<20/parts); err != nil {
			return fmt.Errorf("file %d: %w", i, err)
		}
	}
	select {
	case <-time.After(kept):
	case <-ctx.Done():
		return ctx.Err()
	}
	fmt.Printf("kept %d MiB\n", mib)
	return nil
}
