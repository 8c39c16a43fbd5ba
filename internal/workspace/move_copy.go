package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxCopied bounds what is copied to another device.
const maxCopied = 4 << 30

// copyTo moves n to the place p on another device. The copy grows under another name and
// takes its own in one step, on the disk and complete; only then the source goes. If
// the copy fails it is removed, and the source is as it was.
func (w *Workspace) copyTo(ctx context.Context, n *named, p *place) error {
	source, err := w.openParent(n.in, n.in.path())
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := w.openParent(p, p.path()[:len(p.path())-1])
	if err != nil {
		return err
	}
	defer target.Close()
	t := w.tree(n)
	t.refuse, t.bytes = t.copyable, n.info.Size()
	if err := t.check(n.path(), n.info); err != nil {
		return err
	}
	if n.info.IsDir() {
		dir, err := t.open(source, n.name, n.info)
		if err != nil {
			return err
		}
		err = t.survey(ctx, dir, n.path())
		dir.Close()
		if err != nil {
			return err
		}
	}
	if t.bytes > maxCopied {
		return fail(TooLarge, n.given, "is too large to be moved to another device: it has %d bytes, and the limit is %d", t.bytes, int64(maxCopied))
	}
	c := &copier{tree: t, left: maxCopied, copied: make(map[string]record)}
	if err := c.into(ctx, source, n.path(), target, p.name); err != nil {
		return err
	}
	p.syncDirs()
	p.trace("copied")
	// From here on the copy is what counts: whatever goes wrong, it stays. And half a
	// source helps nobody, so there is no way to interrupt this.
	if err := c.removeSource(context.WithoutCancel(ctx), source, n); err != nil {
		var known *Error
		if errors.As(err, &known) && known.Code == Changed || isNotEmpty(err) {
			return fail(Changed, n.given, "was copied to another device, and the copy is complete; but it was changed in the old place meanwhile, "+
				"and what changed was not deleted there: both the old and the new are there")
		}
		return fail(IO, n.given, "was copied to another device, but could not be deleted in the old place")
	}
	n.in.syncDirs()
	return nil
}

// removeSource deletes what was copied, and nothing else: what others wrote since would be
// in neither place. All of it is compared before the first file goes, so that a change
// that is seen in time leaves the source whole; and each again when it is its turn.
func (c *copier) removeSource(ctx context.Context, source folder, n *named) error {
	c.refuse, c.files = c.unchanged, 0
	now, err := source.Lstat(n.name)
	if err != nil || !sameKind(now, n.info) {
		return c.changed()
	}
	if err := c.check(n.path(), now); err != nil {
		return err
	}
	if now.IsDir() {
		dir, err := c.open(source, n.name, now)
		if err != nil {
			return err
		}
		err = c.survey(ctx, dir, n.path())
		dir.Close()
		if err != nil {
			return err
		}
	}
	return c.remove(ctx, source, n.path())
}

// openParent opens the directory of p, which lies at path, a second time.
func (w *Workspace) openParent(p *place, path []string) (folder, error) {
	seen, err := p.dir().Stat(".")
	if err != nil {
		return folder{}, err
	}
	return w.openSeen(path, seen)
}

// copyable refuses what has no content to copy, and directories that could not be
// emptied afterwards.
func (t *tree) copyable(path []string, info fs.FileInfo) error {
	switch {
	case info.Mode().Type()&^(fs.ModeDir|fs.ModeSymlink) != 0:
		return fail(NotRegular, t.given, "cannot be moved to another device: %s is a pipe, a socket or a device", quote(path[len(path)-1]))
	case info.IsDir() && !writable(info):
		return fail(NotWritable, t.given, "cannot be moved to another device: %s is not writable: its owner may not write it", quote(path[len(path)-1]))
	}
	return nil
}

// A copier copies a tree to another device. It follows no link: a link is copied as one.
type copier struct {
	*tree
	left   int64             // bytes that may still be copied; files can grow
	copied map[string]record // by path
}

// A record tells what a file was when its copy began.
type record struct {
	id                fileID
	kind              fs.FileMode
	size              int64
	modified, changed int64 // in nanoseconds
}

func recordOf(info fs.FileInfo) record {
	r := record{id: identify(info), kind: info.Mode().Type()}
	if !info.IsDir() { // a directory changes when what is in it goes
		r.size, r.modified = info.Size(), info.ModTime().UnixNano()
	}
	if info.Mode().IsRegular() { // a link with several names changes when one of them goes
		r.changed = lastChange(info).UnixNano()
	}
	return r
}

func (r record) is(other record) bool {
	return r.id.is(other.id) && r.kind == other.kind &&
		r.size == other.size && r.modified == other.modified && r.changed == other.changed
}

// begin records what is copied now. The look came before the content is read, so a write
// at any time after it shows.
func (c *copier) begin(path []string, info fs.FileInfo) {
	c.copied[strings.Join(path, "/")] = recordOf(info)
}

// tick is longer than the clock by which file systems date a change.
const tick = 20 * time.Millisecond

// settle waits until a file that was changed this instant is older than a tick. Before
// that, a write after its content was read could have the same time, and not show.
func (c *copier) settle(ctx context.Context, info fs.FileInfo) error {
	age := time.Since(lastChange(info))
	if age < 0 || age >= tick {
		return nil
	}
	timer := time.NewTimer(tick - age)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return interrupted(c.given, ctx.Err())
	}
}

// unchanged refuses what is not what was copied.
func (c *copier) unchanged(path []string, info fs.FileInfo) error {
	if was, ok := c.copied[strings.Join(path, "/")]; !ok || !was.is(recordOf(info)) {
		return c.changed()
	}
	return nil
}

// into copies what is at path in from to a name of to that nothing has.
func (c *copier) into(ctx context.Context, from folder, path []string, to folder, name string) (err error) {
	err = c.nameless(ctx, from, path, to, name)
	if !errors.Is(err, errNameless) {
		return err
	}
	c.left = maxCopied
	tmp := temporary()
	defer func() {
		if err != nil {
			_ = to.RemoveAll(tmp) // it follows no links; the error that counts is returned
		}
	}()
	if err := c.one(ctx, from, path, to, tmp); err != nil {
		return err
	}
	info, err := to.Lstat(tmp)
	if err != nil {
		return err
	}
	d, err := to.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return renameNew(d, tmp, d, name, info.IsDir())
}

// nameless copies a file that has no name until it is complete: a process that is killed
// leaves nothing behind. Directories and links cannot be made so.
func (c *copier) nameless(ctx context.Context, from folder, path []string, to folder, name string) error {
	info, err := from.Lstat(path[len(path)-1])
	if err != nil || !info.Mode().IsRegular() {
		return errNameless
	}
	if err := c.check(path, info); err != nil {
		return err
	}
	c.begin(path, info)
	target, err := to.nameless(0o600)
	if err != nil {
		return errNameless
	}
	defer target.Close()
	if err := c.fill(ctx, from, path[len(path)-1], info, target); err != nil {
		return err
	}
	_ = setTimes(target, info.ModTime(), info.ModTime())
	if err := to.give(target, name); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		return errNameless
	}
	if err := target.Sync(); err != nil { // again: see replaceNameless
		return fail(IO, c.given, "was copied to another device, but perhaps not for good; both the old and the new are there")
	}
	return nil
}

func (c *copier) one(ctx context.Context, from folder, path []string, to folder, as string) error {
	if err := ctx.Err(); err != nil {
		return interrupted(c.given, err)
	}
	name := path[len(path)-1]
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	if err := c.check(path, info); err != nil {
		return err
	}
	c.begin(path, info)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if errors.Is(err, syscall.EINVAL) { // it is no link any more
			return c.changed()
		}
		if err != nil {
			return err
		}
		return to.Symlink(target, as)
	case info.IsDir():
		return c.dir(ctx, from, path, info, to, as)
	}
	return c.file(ctx, from, name, info, to, as)
}

func (c *copier) dir(ctx context.Context, from folder, path []string, info fs.FileInfo, to folder, as string) error {
	if len(path) >= maxDepth {
		return c.changed()
	}
	source, err := c.open(from, path[len(path)-1], info)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := to.Mkdir(as, 0o700); err != nil {
		return err
	}
	made, err := to.Lstat(as)
	if err != nil {
		return err
	}
	target, err := c.open(to, as, made)
	if err != nil {
		return err
	}
	defer target.Close()
	d, err := source.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	err = eachName(d, func(name string) error {
		return c.one(ctx, source, append(slices.Clone(path), name), target, name)
	})
	if err != nil {
		return err
	}
	copied, err := target.Open(".")
	if err != nil {
		return err
	}
	defer copied.Close()
	keepRights(copied, from, path[len(path)-1], info)
	_ = copied.Sync() // a courtesy, as are the times: not every file system has them
	_ = to.Chtimes(as, info.ModTime(), info.ModTime())
	return nil
}

func (c *copier) file(ctx context.Context, from folder, name string, info fs.FileInfo, to folder, as string) error {
	target, err := to.OpenFile(as, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer target.Close()
	if err := c.fill(ctx, from, name, info, target); err != nil {
		return err
	}
	if err := target.Close(); err != nil {
		return err
	}
	_ = to.Chtimes(as, info.ModTime(), info.ModTime())
	return nil
}

// fill copies the content of a file that was looked at, and its owner and mode.
func (c *copier) fill(ctx context.Context, from folder, name string, info fs.FileInfo, target *os.File) error {
	source, err := from.OpenFile(name, os.O_RDONLY|noFollow|noBlock, 0)
	if err != nil {
		return err
	}
	defer source.Close()
	opened, err := source.Stat()
	if err != nil {
		return err
	}
	if !sameKind(opened, info) || ofKernel(source) {
		return c.changed()
	}
	// The copy would have one name only, and nothing would tell any more that it is
	// what some protected file contains.
	if linkCount(source, opened) > 1 {
		return fail(Protected, c.given, "cannot be moved to another device: %s has several names (hard links)", quote(name))
	}
	if err := c.settle(ctx, info); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return interrupted(c.given, err)
		}
		n, err := io.CopyN(target, source, chunk)
		if c.left -= n; c.left < 0 {
			return fail(TooLarge, c.given, "is too large to be moved to another device")
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	keepRights(target, from, name, info)
	return target.Sync()
}
