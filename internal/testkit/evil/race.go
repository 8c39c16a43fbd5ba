package evil

import (
	"context"
	"errors"
	"path/filepath"
)

// race exchanges what is called a and b in a directory, a directory and a link, n times.
// [StartSwapping] is the same for a test that wants to be raced against.
func race(ctx context.Context, dir string, n int) error {
	if dir == "" {
		return errors.New("a race needs a directory")
	}
	for range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := exchange(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
			return err
		}
	}
	return nil
}
