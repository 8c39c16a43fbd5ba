package protect

import (
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/userfile"
)

// A node is a file or a directory itself, whatever its name and content are.
type node struct {
	ID   identity `json:"id"`
	Born int64    `json:"born"` // in milliseconds since 1970; 0 if the system does not say
}

// An identity tells a file or a directory from all others that exist. It is zero where systems have
// none.
type identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// was reports whether the node had that identity at some time. One that was made later has the
// number of another that was deleted.
func (n node) was(id identity, at int64) bool { return n.ID == id && n.Born <= at }

// same reports whether the node is one that was seen before. Times are not compared for equality:
// on some systems a program can set the birth of a file to an earlier time.
func (n node) same(before node) bool { return before != (node{}) && n.was(before.ID, before.Born) }

// identify returns the identity of a directory.
func identify(path string) identity {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return identity{}
	}
	s := statOf(info)
	return identity{s.Device, s.Inode}
}

// directory returns the node of a directory; the zero node if there is none.
func directory(path string) node {
	if id := identify(path); id != (identity{}) {
		return node{id, bornAt(path)}
	}
	return node{}
}

// node returns the node of a regular file; the zero node for everything else.
func (f File) node() node {
	if f.Kind != Regular || f.Stat.Inode == 0 {
		return node{}
	}
	return node{identity{f.Stat.Device, f.Stat.Inode}, f.born}
}

// parent returns the node of the directory that a name is in. It is zero if a link leads there:
// a user who moves the link does not move the directory.
func parent(path string) node {
	n, err := userfile.Within(func() node {
		dir := filepath.Dir(path)
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
			return node{}
		}
		return directory(dir)
	})
	if err != nil {
		return node{}
	}
	return n
}
