//go:build unix

package workspace

import (
	"context"
	"os"
)

// MoveByCopy moves as if the destination were on another device.
func (w *Workspace) MoveByCopy(ctx context.Context, source, destination string) error {
	return w.atName(ctx, source, func(n *named) error {
		return w.fresh(ctx, destination, func(p *place) error { return w.copyTo(ctx, n, p) })
	})
}

// Rename renames without replacing: as the file system does it or, slowly, as if it
// could not.
func Rename(dir, old, name string, isDir, slowly bool) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if slowly {
		return renameSlowly(d, old, d, name, isDir)
	}
	return renameNew(d, old, d, name, isDir)
}
