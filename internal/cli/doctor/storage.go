package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
)

// storage says how much the history, the data of skills and the package cache take, and how to
// free it. No command of perstack removes them yet.
func (x *examination) storage(ctx context.Context) (all []Check) {
	// Counting stops before the limit of the check, and says what it has found.
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-time.Until(end)/4))
		defer cancel()
	}
	if dir, err := x.host.StateDir(); err == nil {
		states, err := dir.States()
		if err != nil {
			return []Check{{ID: "storage.history", Title: "history", Status: Warn, Detail: "the history cannot be listed: " + err.Error()}}
		}
		project, err := dir.Project(x.projectDir())
		if err != nil {
			project.State = ""
		}
		all = append(all,
			sizes(ctx, Check{ID: "storage.history", Title: "history"}, states, "jobs", project.State,
				func(string) string { return "perstack jobs prune --older 30d deletes old jobs of this project" }),
			sizes(ctx, Check{ID: "storage.data", Title: "data of skills"}, states, "skills", project.State,
				func(path string) string {
					return "rm -r " + terminal.ShellJoin(path) + " removes the data of its skills"
				}))
	}
	if cache := x.host.CachePath(); cache != "" {
		size, complete := treeSize(ctx, cache)
		c := Check{ID: "storage.cache", Title: "package cache", Status: Info, Detail: sizeText(size, complete) + " in " + cache}
		if size > 0 {
			c.Fix = "rm -r " + terminal.ShellJoin(cache)
		}
		all = append(all, c)
	}
	return all
}

// sizes adds up a directory of each project. The command that it names is for this project alone.
func sizes(ctx context.Context, c Check, states []string, name, own string, fix func(path string) string) Check {
	var total int64
	complete := true
	for _, state := range states {
		size, all := treeSize(ctx, filepath.Join(state, name))
		total += size
		complete = complete && all
	}
	c.Status = Info
	c.Detail = sizeText(total, complete) + " in all projects"
	if own == "" {
		return c
	}
	path := filepath.Join(own, name)
	if size, all := treeSize(ctx, path); size > 0 {
		c.Detail += ", " + sizeText(size, all) + " in this one"
		c.Fix = fix(path)
	}
	return c
}

func sizeText(size int64, complete bool) string {
	if complete {
		return byteText(size)
	}
	return "at least " + byteText(size)
}

// treeSize adds up the files of a tree, without following links. complete is false if there was
// no time for all of them, or if some cannot be read.
func treeSize(ctx context.Context, dir string) (size int64, complete bool) {
	complete = true
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !os.IsNotExist(err):
			complete = false
		case err == nil && e.Type().IsRegular():
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size, complete && err == nil
}

// byteText writes a size for people.
func byteText(n int64) string {
	const kB, MB, GB = 1e3, 1e6, 1e9
	switch f := float64(n); {
	case f >= GB:
		return fmt.Sprintf("%.1f GB", f/GB)
	case f >= MB:
		return fmt.Sprintf("%.1f MB", f/MB)
	case f >= kB:
		return fmt.Sprintf("%.0f kB", f/kB)
	}
	return fmt.Sprintf("%d bytes", n)
}

func cause(err error) error {
	if err == nil {
		return nil
	}
	return userfile.Reason(err)
}
