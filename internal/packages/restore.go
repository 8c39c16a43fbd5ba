package packages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/userfile"
)

// An item is a file, directory or link of a copy.
type item struct {
	name string      // in the copy, with slashes
	kind fs.FileMode // 0, fs.ModeDir or fs.ModeSymlink
	from string      // the file to copy, or the target of the link
	run  bool        // the file can be executed
}

// listName is the file that says which files of the copy are not the skill's own. The skill can
// change it, and then loses files of its own or keeps those of an older version.
const listName = ".perstack-files"

const maxList = 16 << 20 // bytes

// attempts is how often restoring is tried: another job of the project can do so at the same time.
const attempts = 3

// restore brings a directory to a state in which it has the wanted items. They come after the
// directories that they are in. Data of the skill stays. What it has added and an interpreter would
// load is removed and returned: it would run at the next start, although it was never verified.
func restore(dir string, wanted []item) (removed []string, err error) {
	for range attempts {
		var more []string
		more, err = restoreOnce(dir, wanted)
		if removed = append(removed, more...); err == nil {
			return removed, nil
		}
	}
	return nil, fmt.Errorf("make a copy of it: %w", err)
}

func restoreOnce(dir string, wanted []item) (removed []string, err error) {
	root, err := os.OpenRoot(dir) // nothing outside is reached, whatever links the skill has made
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := &copyDir{root: root, wanted: make(map[string]bool, len(wanted)), stems: make(map[string]bool)}
	for _, it := range wanted {
		c.wanted[it.name] = true
		dir, base := path.Split(it.name)
		for i := range base {
			if base[i] == '.' {
				c.stems[dir+base[:i]] = true
			}
		}
	}
	if err := c.removeOld(); err != nil {
		return nil, err
	}
	for _, it := range wanted {
		if err := c.bring(it); err != nil {
			return nil, err
		}
	}
	for _, it := range wanted {
		if it.kind.IsDir() {
			if err := c.removeStrange(it.name); err != nil {
				return nil, err
			}
		}
	}
	return c.removed, c.writeList(wanted)
}

type copyDir struct {
	root    *os.Root
	wanted  map[string]bool
	stems   map[string]bool // the names of wanted items without their endings
	removed []string        // what the skill had added and an interpreter would load
}

// removeOld removes files of an older version of the package.
func (c *copyDir) removeOld() error {
	info, err := c.root.Lstat(listName)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := c.root.OpenFile(listName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxList))
	if err != nil {
		return nil //nolint:nilerr // a list that cannot be read says nothing
	}
	for name := range strings.SplitSeq(string(data), "\n") {
		if name == "" || c.wanted[name] || !fs.ValidPath(name) {
			continue
		}
		if err := c.root.Remove(name); err != nil && !isGone(err) && !isNotEmpty(err) {
			return err
		}
	}
	return nil
}

// isGone reports that there is nothing to remove.
func isGone(err error) bool { return userfile.Absent(err) }

// isNotEmpty reports that a directory has files of the skill in it.
func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)
}

// bring brings one item into its place.
func (c *copyDir) bring(it item) error {
	info, err := c.root.Lstat(it.name)
	if err != nil && !isGone(err) {
		return err
	}
	if err == nil && c.isThere(it, info) {
		return nil
	}
	if err == nil {
		if err := c.root.RemoveAll(it.name); err != nil {
			return err
		}
	}
	switch {
	case it.kind.IsDir():
		return c.root.Mkdir(it.name, 0o700)
	case it.kind&fs.ModeSymlink != 0:
		return c.root.Symlink(it.from, it.name)
	}
	return c.copyFile(it)
}

// isThere reports whether something is the item already. The rights of a directory are restored.
func (c *copyDir) isThere(it item, info fs.FileInfo) bool {
	switch {
	case it.kind.IsDir():
		return info.IsDir() && (info.Mode().Perm() == 0o700 || c.root.Chmod(it.name, 0o700) == nil)
	case it.kind&fs.ModeSymlink != 0:
		target, err := c.root.Readlink(it.name)
		return err == nil && target == it.from
	}
	return info.Mode().IsRegular() && info.Mode().Perm() == it.mode() && c.isSame(it, info)
}

func (it item) mode() fs.FileMode {
	if it.run {
		return 0o700
	}
	return 0o600
}

// isSame compares a file with the one that it is a copy of.
func (c *copyDir) isSame(it item, info fs.FileInfo) bool {
	from, err := userfile.OpenRegular(it.from)
	if err != nil {
		return false
	}
	defer from.Close()
	if there, err := from.Stat(); err != nil || there.Size() != info.Size() {
		return false
	}
	to, err := c.root.OpenFile(it.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer to.Close()
	a, b := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		n, errA := io.ReadFull(from, a)
		m, errB := io.ReadFull(to, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return isEnd(errA) && isEnd(errB)
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func (c *copyDir) copyFile(it item) error {
	from, err := userfile.OpenRegular(it.from)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := c.root.OpenFile(it.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, it.mode())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from) // a file system that can share blocks does so
	return errors.Join(err, to.Chmod(it.mode()), to.Close())
}

// removeStrange removes what the skill has put into a directory of the copy, as far as an
// interpreter would load it: everything among the modules, and elsewhere all that is no data.
func (c *copyDir) removeStrange(dir string) error {
	names, err := c.list(dir)
	if err != nil {
		return err
	}
	holdsModules := dir == modules || dir == uvModules || path.Dir(dir) == modules && isScope(dir)
	for _, name := range names {
		at := path.Join(dir, name)
		switch {
		case c.wanted[at]:
		case holdsModules:
			err = c.root.RemoveAll(at)
		default:
			err = c.removeCode(at, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxDepth is how many directories of a skill's own can lie in each other. Deeper ones are removed.
const maxDepth = 32

// removeCode removes what the skill has added, unless it is data. A directory is kept, with the data
// in it. Links and special files are not kept: they can lead to anything.
func (c *copyDir) removeCode(at string, depth int) error {
	info, err := c.root.Lstat(at)
	switch {
	case err != nil && isGone(err):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular() && !c.isLoaded(at, info):
		return nil
	case !info.IsDir() || depth == maxDepth || isLoaderName(path.Base(at)):
		c.removed = append(c.removed, at)
		return c.root.RemoveAll(at)
	}
	if err := c.root.Chmod(at, 0o700); err != nil {
		return err
	}
	names, err := c.list(at)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.removeCode(path.Join(at, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// isLoaded reports whether an interpreter would load a file that the skill has added. Node takes
// the file "lib" for require("./lib") before it looks for lib.js.
func (c *copyDir) isLoaded(at string, info fs.FileInfo) bool {
	return programs.IsCodeName(at) || isLoaderName(path.Base(at)) || info.Mode()&0o111 != 0 || c.stems[at]
}

// isLoaderName reports whether a name tells Node or Python what to load.
func isLoaderName(name string) bool {
	return slices.ContainsFunc([]string{modules, manifestName, "__pycache__", "pyvenv.cfg"}, func(known string) bool {
		return strings.EqualFold(name, known)
	})
}

func (c *copyDir) list(dir string) ([]string, error) {
	d, err := c.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func (c *copyDir) writeList(wanted []item) error {
	names := make([]string, 0, len(wanted))
	for _, it := range slices.Backward(wanted) { // what is in a directory before the directory
		if !strings.Contains(it.name, "\n") {
			names = append(names, it.name)
		}
	}
	if err := c.root.RemoveAll(listName); err != nil {
		return err
	}
	return c.root.WriteFile(listName, []byte(strings.Join(names, "\n")+"\n"), 0o600)
}
