//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A meter adds up a tree. It holds one directory open at a time, however deep the tree is:
// it goes up by "..", and checks that it arrives where it came from. A command can make a
// tree that is deeper than the limits for open files and paths.
type meter struct {
	p         *location
	max       int64
	sum       int64
	levels    []level
	pending   int
	hardLinks map[identity]bool
	ticks     int
}

// A level is a directory on the way to the one that is open.
type level struct {
	id      identity
	name    string
	pending []string // directories in it that were not read yet
}

type identity struct{ dev, ino uint64 }

func identityOf(st *unix.Stat_t) identity {
	return identity{uint64(st.Dev), uint64(st.Ino)} //nolint:unconvert // the types differ between systems
}

var errEnough = errors.New("more than was asked for")

func (p *location) usage(ctx context.Context, max int64) (int64, error) {
	d, err := p.dir().Open(".")
	if err != nil {
		return 0, err
	}
	m := &meter{p: p, max: max, hardLinks: make(map[identity]bool)}
	defer func() { d.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(int(d.Fd()), &st); err != nil {
		return 0, err
	}
	m.levels = []level{{id: identityOf(&st)}}
	err = m.add(ctx, d)
	for err == nil {
		here := &m.levels[len(m.levels)-1]
		switch {
		case len(here.pending) > 0:
			name := here.pending[len(here.pending)-1]
			here.pending = here.pending[:len(here.pending)-1]
			m.pending--
			var sub *os.File
			var st *unix.Stat_t
			if sub, st, err = m.open(d, name); sub != nil {
				d.Close()
				d = sub
				m.levels = append(m.levels, level{id: identityOf(st), name: name})
				err = m.add(ctx, d)
			}
		case len(m.levels) == 1:
			return m.sum, nil
		default:
			m.levels = m.levels[:len(m.levels)-1]
			d, err = m.up(d)
		}
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return m.sum, err
}

// open opens a directory, or returns nil: it was removed, processes of this user cannot
// write to it, or the kernel generates its content.
func (m *meter) open(d *os.File, name string) (*os.File, *unix.Stat_t, error) {
	sub, st, err := openDir(d, name)
	if err != nil {
		return nil, nil, m.unmeasured(d, name, err)
	}
	if here := m.levels[len(m.levels)-1].id; here.dev != identityOf(st).dev && onKernelFS(sub) {
		sub.Close()
		return nil, nil, nil
	}
	return sub, st, nil
}

func openDir(d *os.File, name string) (*os.File, *unix.Stat_t, error) {
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, &st, nil
}

// unmeasured returns an error if commands can write to a directory that could not be
// opened. After "mkdir -m 300 d" a command could write without limit where it cannot be
// measured, so this counts as exceeding the limit.
func (m *meter) unmeasured(d *os.File, name string, cause error) error {
	switch {
	case errors.Is(cause, unix.EMFILE), errors.Is(cause, unix.ENFILE), errors.Is(cause, unix.ENOMEM):
		return cause
	case !errors.Is(cause, unix.EACCES) && !errors.Is(cause, unix.EPERM):
		return nil // it was removed or replaced
	}
	var st unix.Stat_t
	err := unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EACCES) && m.hides(int(d.Fd())) {
		return m.closed("")
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	if int(st.Uid) != os.Geteuid() && unix.Faccessat(int(d.Fd()), name, unix.W_OK, unix.AT_EACCESS) != nil {
		return nil
	}
	return m.closed(name)
}

// closed is the error for a directory that cannot be measured: the name in the open
// directory, or without a name the open directory itself.
func (m *meter) closed(name string) error {
	var names []string
	for _, l := range m.levels[1:] {
		names = append(names, l.name)
	}
	if name != "" {
		names = append(names, name)
	}
	return fail(NotReadable, strings.Join(names, "/"), "cannot be measured: commands can write to this directory, but its permissions do not let perstack read it")
}

// up goes to the last of levels. If the open directory was moved meanwhile, ".." is another
// directory; then the path is walked again from the top, as far as it still exists.
func (m *meter) up(d *os.File) (*os.File, error) {
	parent, st, _ := openDir(d, "..")
	d.Close()
	if parent != nil && identityOf(st) == m.levels[len(m.levels)-1].id {
		return parent, nil
	}
	if parent != nil {
		parent.Close()
	}
	here, err := m.p.dir().Open(".")
	if err != nil {
		return d, err
	}
	for i, l := range m.levels[1:] {
		sub, st, err := openDir(here, l.name)
		if err == nil && identityOf(st) != l.id {
			sub.Close()
			err = errChanged
		}
		if err != nil {
			for _, lost := range m.levels[i+1:] {
				m.pending -= len(lost.pending)
			}
			m.levels = m.levels[:i+1]
			return here, m.unmeasured(here, l.name, err)
		}
		here.Close()
		here = sub
	}
	return here, nil
}

// add counts what is in the open directory, and notes the directories in it.
func (m *meter) add(ctx context.Context, d *os.File) error {
	for {
		names, err := d.Readdirnames(1024)
		for _, name := range names {
			if m.ticks++; m.ticks%256 == 0 && ctx.Err() != nil {
				return interrupted(m.p.given, ctx.Err())
			}
			if err := m.count(int(d.Fd()), name); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return interrupted(m.p.given, err)
		}
		if err != nil {
			return nil // the end, or a read error
		}
	}
}

func (m *meter) count(fd int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		// A directory that can be listed but not searched is another way to hide files.
		if errors.Is(err, unix.EACCES) && m.hides(fd) {
			return m.closed("")
		}
		return nil // it was removed
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if m.pending++; m.pending > maxPending {
			return fail(TooLarge, m.p.given, "has too many directories to measure it")
		}
		here := &m.levels[len(m.levels)-1]
		here.pending = append(here.pending, name)
	} else if st.Nlink > 1 {
		id := identityOf(&st)
		if m.hardLinks[id] {
			return nil
		}
		if len(m.hardLinks) < maxHardLinks {
			m.hardLinks[id] = true
		}
	}
	m.sum += int64(st.Blocks) * 512 //nolint:unconvert // the types differ between systems
	if m.max > 0 && m.sum > m.max {
		return errEnough
	}
	return nil
}

// hides reports whether the open directory belongs to this user and cannot be searched.
func (m *meter) hides(fd int) bool {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || int(st.Uid) != os.Geteuid() {
		return false
	}
	return unix.Faccessat(fd, ".", unix.X_OK, unix.AT_EACCESS) != nil
}
