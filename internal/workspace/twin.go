package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

const (
	// maxCompared bounds the names that are read to find the other name of a file.
	maxCompared = 10_000
	// maxJobs bounds the jobs whose files are compared.
	maxJobs = 10_000
)

// refuseTwin refuses a file with several names when another of them is protected: by
// "ln perstack/jobs/…/journal.jsonl x" or "ln .env x" a command would lend the tools
// an innocent name. Most files have one name, so it may take its time.
//
// A journal is always found. Env files have any place, and cannot be: they are looked
// for in the directories on the way to the file, then breadth first in the workspace
// until maxCompared names were seen.
func (p *place) refuseTwin(ctx context.Context, info fs.FileInfo) error {
	if err := p.refuseJournal(ctx, info); err != nil {
		return err
	}
	for _, dir := range slices.Backward(p.dirs) {
		if err := ctx.Err(); err != nil {
			return interrupted(p.given, err)
		}
		left := maxCompared
		if found, _ := hasTwin(dir, ".", info, &left); found {
			return secret(p.given)
		}
	}
	left := maxCompared
	for queue := []string{"."}; len(queue) > 0 && left > 0; queue = queue[1:] {
		if err := ctx.Err(); err != nil {
			return interrupted(p.given, err)
		}
		found, below := hasTwin(p.dirs[0], queue[0], info, &left)
		if found {
			return secret(p.given)
		}
		queue = append(queue, below...)
	}
	return nil
}

// hasTwin looks for info among the env files of a directory, and returns the
// directories in it. Only identities are compared, so a swap misleads nobody to a file.
func hasTwin(root *os.Root, dir string, info fs.FileInfo, left *int) (found bool, below []string) {
	d, err := root.OpenFile(dir, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return false, nil
	}
	defer d.Close()
	for *left > 0 {
		entries, err := d.ReadDir(min(*left, 512))
		*left -= len(entries)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case e.IsDir():
				below = append(below, name)
			case isEnvName(fold(e.Name())):
				if other, err := root.Stat(name); err == nil && os.SameFile(other, info) {
					return true, nil
				}
			}
		}
		if err != nil {
			break
		}
	}
	return false, below
}

// refuseJournal compares a file with those that the storage keeps for its jobs. The
// directories of the jobs are those that are held, wherever they were moved.
func (p *place) refuseJournal(ctx context.Context, info fs.FileInfo) error {
	left := maxJobs
	for _, h := range p.watch.held {
		if !h.jobs {
			continue
		}
		if h.root == nil {
			return uncertain(p.given)
		}
		d, err := h.root.Open(".")
		if err != nil {
			return uncertain(p.given)
		}
		err = eachName(d, func(job string) error {
			if left--; left < 0 {
				return uncertain(p.given)
			}
			if err := ctx.Err(); err != nil {
				return interrupted(p.given, err)
			}
			for _, name := range []string{"journal.jsonl", "job.json"} {
				if other, err := h.root.Lstat(path.Join(job, name)); err == nil && os.SameFile(other, info) {
					return storage(p.given)
				}
			}
			return nil
		})
		d.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func eachName(d *os.File, do func(string) error) error {
	for {
		names, err := d.Readdirnames(512)
		for _, name := range names {
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
	return fail(Protected, given, "is protected: it has several names, and whether one of them is a journal cannot be told")
}
