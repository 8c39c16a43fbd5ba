// Package opendir works on single names in an open directory. No method follows a link, opens a
// pipe or a device, or takes a path: the caller goes from directory to directory, so that nothing
// which is swapped meanwhile leads elsewhere.
//
// It knows nothing of what a tool may touch; internal/workspace decides that. Start reading at [Dir].
package opendir

import (
	"errors"
	"strings"
)

// A Kind says what has a name.
type Kind byte

// The kinds.
const (
	File Kind = iota + 1
	Directory
	Link
	Other // a pipe, a socket or a device
)

// Info describes what has a name.
type Info struct {
	Kind  Kind
	Mode  uint16 // the permission bits
	Size  int64
	Names int // how many names a file has
	Stamp Stamp
}

// A Stamp changes when a file does. The kernel sets Changed, and no program can set it back.
type Stamp struct {
	Device, Inode     uint64 // 0 where the system has none
	Modified, Changed int64  // nanoseconds since 1970
}

// ErrNotName is returned for what is not a single name.
var ErrNotName = errors.New("not the name of one file")

// checkName refuses what the system would resolve as a path.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, separators) {
		return ErrNotName
	}
	return nil
}
