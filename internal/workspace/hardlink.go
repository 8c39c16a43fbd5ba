package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
)

const (
	// maxCompared bounds the names that are read to find the other name of a file.
	maxCompared = 10_000
	// maxJobs bounds the jobs whose files are compared.
	maxJobs = 10_000
)

// refuseHardLink refuses a file with several names when another of them is protected:
// "ln perstack/jobs/…/journal.jsonl x" or "ln .env x" gives a protected file an innocent
// name. Most files have one name, so this check may be slow.
//
// A journal is always found. Env files can be anywhere: they are looked for in the
// directories on the way to the file, then breadth first in the workspace until
// maxCompared names were seen.
func (p *location) refuseHardLink(ctx context.Context, info fs.FileInfo) error {
	if err := p.refuseJournal(ctx, info); err != nil {
		return err
	}
	for depth, dir := range slices.Backward(p.dirs) {
		if err := ctx.Err(); err != nil {
			return interrupted(p.given, err)
		}
		left := maxCompared
		if found, _ := p.hasHardLink(ctx, dir.folder, p.path()[:depth], info, &left); found {
			return secret(p.given)
		}
	}
	left := maxCompared
	for queue := [][]string{{}}; len(queue) > 0 && left > 0; queue = queue[1:] {
		if err := ctx.Err(); err != nil {
			return interrupted(p.given, err)
		}
		dir, err := descend(p.dirs[0].folder, queue[0])
		if err != nil {
			continue
		}
		found, below := p.hasHardLink(ctx, dir, queue[0], info, &left)
		dir.Close()
		if found {
			return secret(p.given)
		}
		queue = append(queue, below...)
	}
	return nil
}

// descend goes down from root through directories only, not through links. It always
// returns a new handle, even without names, which belongs to the caller.
func descend(root folder, trail []string) (folder, error) {
	dir, err := root.step(".", nil)
	for _, name := range trail {
		if err != nil {
			return folder{}, err
		}
		above := dir
		dir, err = above.step(name, nil)
		above.Close()
	}
	return dir, err
}

// step opens the directory of that name. If it was seen before, nothing else is opened that
// took its name since.
func (d folder) step(name string, seen fs.FileInfo) (folder, error) {
	there, err := d.look(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return folder{}, err
	}
	if !there.isDir() || seen != nil && !there.id().is(identify(seen)) {
		there.drop()
		return folder{}, errChanged
	}
	return there.enter()
}

// hasHardLink looks for info among the env files of a directory, and returns the trails of
// the directories in it. Only identities are compared and nothing is opened, so a swap does
// no harm.
func (p *location) hasHardLink(ctx context.Context, dir folder, trail []string, info fs.FileInfo, left *int) (found bool, below [][]string) {
	_ = dir.eachName(ctx, p.given, func(name string) error {
		if *left--; *left < 0 {
			return io.EOF
		}
		if isEnvName(fold(name)) {
			if other, err := p.envFile(ctx, dir, trail, name); err == nil && sameFile(other, info) {
				found = true
				return io.EOF
			}
		}
		// The path is walked for each directory, so its length is bounded.
		if there, err := dir.Lstat(name); err == nil && there.IsDir() && len(trail) < maxDepth {
			below = append(below, append(slices.Clip(trail), name))
		}
		return nil
	})
	return found, below
}

// envFile describes an env file, or the target if it is a link. The target is reached by a
// walk: a link that leaves the workspace has none.
func (p *location) envFile(ctx context.Context, dir folder, trail []string, name string) (fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	if err != nil || !isLink(info) {
		return info, err
	}
	left := maxSteps
	q := p.sibling(&left)
	q.close() // it is at the root then
	return q.target(ctx, dir, name, trail)
}

// refuseJournal compares a file with those that the storage keeps for its jobs. The
// directories of the jobs are those that are held, wherever they were moved.
func (p *location) refuseJournal(ctx context.Context, info fs.FileInfo) error {
	left := maxJobs
	for _, h := range p.watch.held {
		if !h.jobs {
			continue
		}
		if !h.opened {
			return uncertain(p.given)
		}
		err := h.dir.eachName(ctx, p.given, func(job string) error {
			if left--; left < 0 {
				return uncertain(p.given)
			}
			if isJournal(h.dir, job, info) {
				return storage(p.given)
			}
			return nil
		})
		if _, known := errors.AsType[*Error](err); err != nil && !known {
			return uncertain(p.given)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isJournal compares a file with what the storage keeps for one job.
func isJournal(jobs folder, job string, info fs.FileInfo) bool {
	dir, err := jobs.step(job, nil)
	if err != nil {
		return false
	}
	defer dir.Close()
	for _, name := range []string{"journal.jsonl", "job.json"} {
		if other, err := dir.Lstat(name); err == nil && sameFile(other, info) {
			return true
		}
	}
	return false
}

// eachName calls do with the names in the directory, until do returns an error.
func (d folder) eachName(ctx context.Context, given string, do func(string) error) error {
	f, err := d.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(512)
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return interrupted(given, err)
			}
			if err := do(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func uncertain(given string) error {
	return fail(Protected, given, "is protected: it has several names, and one of them could be a journal")
}
