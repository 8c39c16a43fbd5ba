package workspace

import (
	"context"
)

// Usage returns how many bytes everything below the workspace takes on the disk, the
// history too if it is there: a command can write to it, and under its name to anything.
// It stops when it has more than max, if that is above 0.
//
// A file with several names counts once, and a file with holes as far as it is filled.
// A directory that cannot be looked into is not counted if nobody who runs as we do can
// fill it. If somebody can, the error says which it is: the size is not known.
func (w *Workspace) Usage(ctx context.Context, max int64) (int64, error) {
	var sum int64
	err := w.at(ctx, ".", false, func(p *place) error {
		var err error
		sum, err = p.usage(ctx, max)
		return err
	})
	return sum, err
}

const (
	// maxTwins bounds the files with several names that are remembered. Those beyond it
	// count once for each name.
	maxTwins = 100_000
	// maxPending bounds the directories that are known and not looked into yet.
	maxPending = 500_000
)
