package protect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/userfile"
)

// A Kind says what is at a name.
type Kind string

// What can be at a name, after all links.
const (
	Absent    Kind = "absent"
	Regular   Kind = "file"
	Directory Kind = "directory"
	Other     Kind = "other" // such as a pipe, or what cannot be looked at
)

// A File is what was at a name: what a command that reads it would get.
type File struct {
	Kind  Kind     `json:"kind"`
	Links []string `json:"links,omitempty"` // what the links at the name say, quoted
	Real  string   `json:"real,omitempty"`  // where it is, if a link leads there
	Sum   string   `json:"sum,omitempty"`   // digest of the content; empty if it cannot be read
	Stat  stat     `json:"stat,omitzero"`

	// No record has these.
	obstacle string // why it cannot be read, for Unacceptable
	born     int64  // see node
}

// A stat tells two states of a file apart without reading it. A program cannot set ChangeTime.
type stat struct {
	Size       int64  `json:"size"`
	ModTime    int64  `json:"modTime"` // in nanoseconds, as is ChangeTime
	ChangeTime int64  `json:"changeTime"`
	Device     uint64 `json:"device"`
	Inode      uint64 `json:"inode"`
}

// maxDigest bounds what is read of a file. No file that perstack reads is larger.
const maxDigest = 32 << 20

// maxLinks bounds the links that lead to a file, as the kernel does.
const maxLinks = 40

// look looks at a name, and follows links as a reader does. direct says that no directory on
// the way is a link. A file that has not changed since before is not read again. What leads to a
// file system that does not answer is no regular file.
func look(path string, direct bool, before File) File {
	if direct {
		if _, err := os.Readlink(path); err != nil { // it is where the search has just been
			return lookNow(path, true, before)
		}
	}
	f, err := userfile.Within(func() File { return lookNow(path, direct, before) })
	if err != nil {
		return File{Kind: Other, obstacle: "cannot be read: " + err.Error()}
	}
	return f
}

func lookNow(path string, direct bool, before File) File {
	f := File{Kind: Absent}
	for at := path; len(f.Links) < maxLinks; {
		text, err := os.Readlink(at)
		if err != nil {
			break
		}
		f.Links = append(f.Links, strconv.QuoteToASCII(text))
		if filepath.IsAbs(text) {
			at = filepath.Clean(text)
		} else {
			at = filepath.Join(filepath.Dir(at), text)
		}
	}
	if !direct || len(f.Links) > 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			f.Real = encode(real)
		}
	}
	info, err := os.Stat(path)
	switch {
	case userfile.Absent(err):
		return f
	case err != nil:
		f.Kind, f.obstacle = Other, "cannot be read: "+userfile.Reason(err).Error()
		return f
	case info.IsDir():
		f.Kind = Directory
		return f
	case !info.Mode().IsRegular():
		verb := "is "
		if len(f.Links) > 0 {
			verb = "leads to "
		}
		f.Kind, f.obstacle = Other, verb+special(info.Mode())+", which perstack never reads"
		return f
	}
	f.Kind, f.Stat, f.born = Regular, statOf(info), bornAt(path)
	if before.Kind == Regular && before.Sum != "" && f.Stat == before.Stat && f.Stat.ChangeTime != 0 {
		f.Sum = before.Sum
		return f
	}
	data, err := userfile.ReadNow(path, maxDigest)
	if err != nil {
		f.obstacle = "cannot be read: " + err.Error()
		return f // only its stat is compared
	}
	f.Sum = userfile.Digest(data)
	return f
}

// special says what a file is that is neither a regular one nor a directory.
func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something other than a file"
}

// same reports whether a reader gets the same from both.
func same(a, b File) bool {
	if a.Kind != b.Kind || a.Real != b.Real || a.Sum != b.Sum || !slices.Equal(a.Links, b.Links) {
		return false
	}
	return a.Sum != "" || a.Stat == b.Stat
}

// exists reports whether there is anything at the name, even if it leads nowhere.
func (f File) exists() bool { return f.Kind != Absent && f.Kind != "" || len(f.Links) > 0 }

// Unacceptable says why a file that was just looked at cannot be accepted, and what to do instead,
// as in "is a pipe, …"; empty if it can be.
func (f File) Unacceptable() string {
	if f.obstacle == "" {
		return ""
	}
	return f.obstacle + ", so it cannot be accepted; delete it, or put a readable file in its place"
}

// String describes a file for people: what it is, its size, and the beginning of its digest.
func (f File) String() string {
	var text string
	switch {
	case !f.exists():
		return "no file"
	case f.Kind == Absent:
		text = "nothing"
	case f.Kind == Regular && f.Sum != "":
		text = fmt.Sprintf("%d bytes, sha256 %.12s", f.Stat.Size, f.Sum)
	case f.Kind == Regular:
		text = fmt.Sprintf("%d bytes that cannot be read", f.Stat.Size)
	case f.Kind == Other:
		text = "not a regular file"
	default:
		text = "a directory"
	}
	if len(f.Links) > 0 {
		text = "link to " + strings.Join(f.Links, ", then ") + ": " + text
	}
	return text
}

// names returns all paths under which a file can be marked: as it is written, without links in
// its directory, and each link on the way to its content.
func names(path string) []string {
	all, err := userfile.Within(func() []string { return namesNow(path) })
	if err != nil {
		return []string{filepath.Clean(path)}
	}
	return all
}

func namesNow(path string) []string {
	all := []string{filepath.Clean(path)}
	add := func(p string) {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	for i := 0; i < len(all) && i < maxLinks; i++ {
		at := all[i]
		if dir, err := filepath.EvalSymlinks(filepath.Dir(at)); err == nil {
			add(filepath.Join(dir, filepath.Base(at)))
		} else if !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if text, err := os.Readlink(at); err == nil && filepath.IsAbs(text) {
			add(filepath.Clean(text))
		} else if err == nil {
			add(filepath.Join(filepath.Dir(at), text))
		}
	}
	return all
}
