package snapshot

import (
	"strings"

	"github.com/perstack-go/perstack/internal/opendir"
)

// A Kind says what has a name in a tree.
type Kind = opendir.Kind

// The kinds.
const (
	File      = opendir.File
	Directory = opendir.Directory
	Link      = opendir.Link
	Other     = opendir.Other
)

// Flags say more about an entry.
type Flags byte

const (
	// NotCaptured marks what is there and is not in the snapshot: its content is not known, and a
	// restore leaves it alone.
	NotCaptured Flags = 1 << iota
	// Chunked marks a file whose ID names a list of chunks.
	Chunked
	// Torn marks a file that changed each time it was read.
	Torn
	// Private marks an env file. It is restored, and never shown.
	Private

	allFlags = NotCaptured | Chunked | Torn | Private
)

// An Entry is one name in a tree. It has no times: a restored file gets the present time, so that
// make builds what depends on it.
type Entry struct {
	Name  string
	Kind  Kind
	Flags Flags
	Mode  uint16 // the permission bits
	Size  int64  // of a file
	ID    ID     // of the content; zero if it is not captured
}

// Captured reports whether the snapshot has the content.
func (e *Entry) Captured() bool { return e.Kind != Other && e.Flags&NotCaptured == 0 }

func (e *Entry) valid() bool {
	switch {
	case e.Name == "", e.Name == ".", e.Name == "..", strings.ContainsAny(e.Name, "/\x00"),
		e.Kind < File, e.Kind > Other, e.Flags&^allFlags != 0:
		return false
	case e.Kind != File:
		return e.Size == 0 && e.Flags&(Chunked|Torn) == 0
	}
	return true
}
