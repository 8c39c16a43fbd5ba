//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A meter adds up a tree. It holds one directory open at a time, however deep the tree
// is: it goes up by "..", and makes sure that it arrives where it came from. A command
// can make a tree deeper than any number of open files, or than any path.
type meter struct {
	p       *place
	max     int64
	sum     int64
	levels  []level
	pending int
	twins   map[identity]bool
	ticks   int
}

// A level is a directory on the way to the one that is open.
type level struct {
	id      identity
	name    string
	pending []string // directories in it that were not looked into yet
}

type identity struct{ dev, ino uint64 }

func identityOf(st *unix.Stat_t) identity {
	return identity{uint64(st.Dev), uint64(st.Ino)} //nolint:unconvert // the types differ between systems
}

var errEnough = errors.New("more than was asked for")

func (p *place) usage(ctx context.Context, max int64) (int64, error) {
	d, err := p.dir().Open(".")
	if err != nil {
		return 0, err
	}
	m := &meter{p: p, max: max, twins: make(map[identity]bool)}
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
			sub, st := m.open(d, name)
			if sub == nil {
				continue
			}
			d.Close()
			d = sub
			m.levels = append(m.levels, level{id: identityOf(st), name: name})
			err = m.add(ctx, d)
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

// open opens a directory to look into, or returns nil: it is gone, cannot be read, or is
// not to be counted.
func (m *meter) open(d *os.File, name string) (*os.File, *unix.Stat_t) {
	sub, st := openDir(d, name)
	if sub == nil {
		return nil, nil
	}
	info, err := sub.Stat()
	if err != nil || m.p.watch.refuse(name, info) != nil {
		sub.Close()
		return nil, nil
	}
	if here := m.levels[len(m.levels)-1].id; here.dev != identityOf(st).dev && ofKernel(sub) {
		sub.Close()
		return nil, nil
	}
	return sub, st
}

func openDir(d *os.File, name string) (*os.File, *unix.Stat_t) {
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil
	}
	f := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, nil
	}
	return f, &st
}

// up goes to the last of levels. If the directory that is open was moved elsewhere in
// the meantime, ".." is a stranger; then the way is taken again from the top, as far as
// it is still there.
func (m *meter) up(d *os.File) (*os.File, error) {
	parent, st := openDir(d, "..")
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
		sub, st := openDir(here, l.name)
		if sub == nil || identityOf(st) != l.id {
			if sub != nil {
				sub.Close()
			}
			for _, lost := range m.levels[i+1:] {
				m.pending -= len(lost.pending)
			}
			m.levels = m.levels[:i+1]
			break
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
			return nil // the end, or what cannot be read on
		}
	}
}

func (m *meter) count(fd int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil // it is gone
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if m.pending++; m.pending > maxPending {
			return fail(TooLarge, m.p.given, "has too many directories to measure it")
		}
		here := &m.levels[len(m.levels)-1]
		here.pending = append(here.pending, name)
	} else if st.Nlink > 1 {
		id := identityOf(&st)
		if m.twins[id] {
			return nil
		}
		if len(m.twins) < maxTwins {
			m.twins[id] = true
		}
	}
	m.sum += int64(st.Blocks) * 512 //nolint:unconvert // the types differ between systems
	if m.max > 0 && m.sum > m.max {
		return errEnough
	}
	return nil
}
