package workspace

import (
	"context"
	"io/fs"
	"path/filepath"
)

// usage adds up sizes: what a file takes on the disk, and which names it has, would need
// each of them to be opened.
func (p *place) usage(ctx context.Context, max int64) (int64, error) {
	d, err := p.dir().Open(".")
	if err != nil {
		return 0, err
	}
	defer d.Close()
	var sum int64
	err = filepath.WalkDir(d.Name(), func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return interrupted(p.given, ctx.Err())
		}
		if err != nil {
			return nil // gone, or not to be opened
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if e.Type().IsRegular() {
			sum += info.Size()
		}
		if max > 0 && sum > max {
			return fs.SkipAll
		}
		return nil
	})
	return sum, err
}
