package workspace

import (
	"context"
	"io/fs"
	"os"
)

// complete adds what only a look at the file itself tells: whether it can be read, and
// when it was made.
func (p *place) complete(out *Info) {
	out.Readable = p.readable()
	if made, ok := p.created(); ok {
		out.Created = made
	}
}

// readable tries it. What is neither file nor directory is not opened: that can have
// consequences.
func (p *place) readable() bool {
	if p.name == "" {
		d, err := p.dir().Open(".")
		if err != nil {
			return false
		}
		d.Close()
		return true
	}
	if p.info == nil || !p.info.Mode().IsRegular() {
		return false
	}
	f, err := p.dir().OpenFile(p.name, os.O_RDONLY|noFollow|noBlock, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	opened, err := f.Stat()
	return err == nil && sameFile(opened, p.info)
}

// isLink reports whether the last name of a path is itself a link.
func (w *Workspace) isLink(ctx context.Context, name string) bool {
	link := false
	err := w.atName(ctx, name, func(n *named) error {
		link = n.info != nil && n.info.Mode()&fs.ModeSymlink != 0
		return nil
	})
	return err == nil && link
}
