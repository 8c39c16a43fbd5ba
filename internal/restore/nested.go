package restore

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/userfile"
)

// Workspaces can lie in each other. A process that has the lock of one therefore looks at the locks
// of those above and below. The name of a lock does not tell where its workspace is, so a second file
// does, as long as the lock is in use. It is written before the others are looked at: of two
// processes that begin at the same time, at least one sees the other.

// pathSuffix ends the name of the file with the path of a workspace.
const pathSuffix = ".path"

// announce writes where the workspace is.
func (l *Lock) announce(in opendir.Dir) (err error) {
	path, err := filepath.Abs(l.workspace)
	if err == nil {
		l.path, err = state.Resolve(path)
	}
	if err != nil {
		return err
	}
	name := rand.Text() // a reader must not see a part of the path
	f, err := in.Create(name, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(l.path)
	if err = errors.Join(err, f.Close()); err == nil {
		err = in.MoveTo(in, name, l.name+pathSuffix)
	}
	if err != nil {
		err = errors.Join(err, in.Remove(name))
	}
	return err
}

// alone returns a [*BusyError] if a workspace above or below is in use in a way that does not go with
// the lock: jobs exclude restores, and restores exclude everything.
func (l *Lock) alone(in opendir.Dir, exclusive bool) error {
	names, err := in.Names()
	if err != nil {
		return err
	}
	for _, file := range names {
		name, ok := strings.CutSuffix(file, pathSuffix)
		if !ok || name == l.name {
			continue
		}
		path, err := readPath(in, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is not in use any more
		}
		if err != nil {
			return err
		}
		_, below := userfile.Below(l.path, path)
		_, above := userfile.Below(path, l.path)
		if !below && !above {
			continue
		}
		free, err := isFree(in, name, exclusive)
		if err != nil {
			return err
		}
		if !free {
			return &BusyError{Workspace: path, Restore: !exclusive}
		}
	}
	return nil
}

func readPath(in opendir.Dir, file string) (string, error) {
	f, err := in.Read(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	path, err := io.ReadAll(io.LimitReader(f, maxPending))
	return string(path), err
}

// isFree reports whether the lock of another workspace could be taken.
func isFree(in opendir.Dir, name string, exclusive bool) (bool, error) {
	f, err := in.Update(name, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	free, err := filelock.Try(f, exclusive)
	if free && exclusive { // a process that was killed left the path
		err = removePath(in, name)
	}
	return free, err
}

// removePath removes the path of a workspace. The lock must be exclusive.
func removePath(in opendir.Dir, name string) error {
	if err := in.Remove(name + pathSuffix); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// withdraw removes the path, unless others have the lock as well.
func (l *Lock) withdraw() error {
	last, err := filelock.Try(l.file, true)
	if err != nil || !last {
		return err
	}
	in, err := opendir.Open(l.dir)
	if err != nil {
		return err
	}
	return errors.Join(removePath(in, l.name), in.Close())
}
