package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// A directory that takes the changes of an overlay must not be used by two overlays at once. So
// each sandbox takes a slot, which is a number: the changes of its caches are in directories of
// this number, and a lock on a file says that it is taken. The kernel releases the lock when
// perstack dies. Slots are taken from 0 up, so that the next run finds what the last one cached.
//
//	DIR/go-build/0/upper   what programs wrote
//	DIR/go-build/0/work    for the kernel
//	DIR/slot-0.lock

const (
	maxSlots = 16
	// maxUpper is how large the changes of one cache can be when a sandbox starts.
	maxUpper = 5 << 30
	// maxUpperNames bounds the search for that. With more names, a cache counts as too large.
	maxUpperNames = 2_000_000
)

// ErrSlots is returned if all slots are taken.
var ErrSlots = fmt.Errorf("%d sandboxes of this project use its caches already", maxSlots)

// A Slot keeps other sandboxes from using the same directories. Release it when all programs of
// the sandbox have ended.
type Slot struct {
	Caches []Cache // with Upper and Work
	lock   *os.File
}

// Release lets the next sandbox use the directories. They stay.
func (s *Slot) Release() error {
	if s == nil || s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// Prepare takes a slot for the caches of a sandbox and makes their directories. What programs
// wrote there in earlier runs is removed if it has become too large.
func Prepare(ctx context.Context, caches []Cache) (*Slot, error) {
	if len(caches) == 0 {
		return &Slot{}, nil
	}
	s, err := prepare(ctx, caches, maxUpper)
	if err != nil {
		return nil, fmt.Errorf("prepare the caches of the sandbox: %w", err)
	}
	return s, nil
}

func prepare(ctx context.Context, caches []Cache, limit int64) (*Slot, error) {
	dir := filepath.Dir(caches[0].Upper)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, number, err := takeSlot(dir)
	if err != nil || lock == nil {
		return &Slot{}, err
	}
	s := &Slot{lock: lock}
	for _, c := range caches {
		at := filepath.Join(c.Upper, strconv.Itoa(number))
		c.Upper, c.Work = filepath.Join(at, "upper"), filepath.Join(at, "work")
		if err := c.makeDirs(ctx, at, limit); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		s.Caches = append(s.Caches, c)
	}
	return s, nil
}

// takeSlot locks the first slot that is free. The lock is nil on systems without sandboxes that
// have caches.
func takeSlot(dir string) (*os.File, int, error) {
	for number := range maxSlots {
		f, err := lockFile(filepath.Join(dir, "slot-"+strconv.Itoa(number)+".lock"))
		if !errors.Is(err, errLocked) {
			return f, number, err
		}
	}
	return nil, 0, ErrSlots
}

var errLocked = errors.New("another process has locked it")

// makeDirs makes the directories of a cache below at, and empties them if they are too large.
func (c Cache) makeDirs(ctx context.Context, at string, limit int64) error {
	large, err := largerThan(ctx, c.Upper, limit)
	if err != nil {
		return err
	}
	if large {
		if err := RemoveTree(at); err != nil {
			return err
		}
	}
	for _, dir := range []string{filepath.Dir(at), at, c.Upper, c.Work} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A link in place of a directory would let programs write elsewhere.
		if info, err := os.Lstat(dir); err != nil {
			return err
		} else if !info.IsDir() {
			return &os.PathError{Op: "make directory", Path: dir, Err: errors.New("it is not a directory")}
		}
	}
	return nil
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// largerThan reports whether the files below a directory have more bytes than the limit, or are
// too many to count.
func largerThan(ctx context.Context, dir string, limit int64) (bool, error) {
	var bytes int64
	names := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return errEnough // what cannot be counted is removed
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if names++; names > maxUpperNames || bytes > limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}
