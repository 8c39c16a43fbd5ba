//go:build unix

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// snapshotFiles is how many files the workspace has in which snapshots are measured.
const snapshotFiles = 20_000

// snapshots compares the CPU time of snapshots with git add -A, and with only asking for the status
// of all files. The workspace has the sources of Go, some of them twice.
func snapshots(ctx context.Context, dir string) ([]figure, error) {
	dir = filepath.Join(dir, "snapshots")
	ws, git := filepath.Join(dir, "ws"), filepath.Join(dir, "git")
	raw, err := copySources(ctx, ws)
	if err != nil {
		return nil, err
	}
	store, err := snapshot.Open(ctx, filepath.Join(dir, "files"))
	if err != nil {
		return nil, err
	}
	defer store.Close()
	taker := store.Taker(ws, snapshot.Defaults())
	add := func() (time.Duration, error) { return runGit(ctx, ws, git, "add", "-A") }
	if _, err := runGit(ctx, ws, git, "init", "-q"); err != nil {
		return nil, err
	}

	heap := heapSize()
	var first snapshot.Snapshot
	firstTime, err := timed(func() (err error) {
		first, err = taker.Take(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	memory := float64(heapSize()-heap) / float64(first.Entries)
	firstGit, err := add()
	if err != nil {
		return nil, err
	}
	time.Sleep(3 * time.Second) // younger files are read again, by git too

	least := map[string]time.Duration{}
	note := func(name string, d time.Duration) {
		if was, ok := least[name]; !ok || d < was {
			least[name] = d
		}
	}
	var unchanged snapshot.Snapshot
	for range 7 {
		d, err := timed(func() (err error) {
			unchanged, err = taker.Take(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		note("unchanged", d)
		if d, err = add(); err != nil {
			return nil, err
		}
		note("git", d)
		if d, err = timed(func() error { return statAll(ws) }); err != nil {
			return nil, err
		}
		note("walk", d)
	}
	read := 0
	for i := range 5 {
		for n := range 3 {
			if err := os.WriteFile(filepath.Join(ws, fmt.Sprintf("changed-%d.txt", n)), fmt.Appendf(nil, "%d", i), 0o644); err != nil {
				return nil, err
			}
		}
		d, err := timed(func() error {
			s, err := taker.Take(ctx)
			read = s.Read
			return err
		})
		if err != nil {
			return nil, err
		}
		note("changed", d)
		time.Sleep(3 * time.Second) // until the three are no longer young
		if _, err := taker.Take(ctx); err != nil {
			return nil, err
		}
	}
	ratio := func(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }
	return []figure{
		{"snapshots: 20,000 unchanged files, CPU to git add -A", ratio(least["unchanged"], least["git"]), 1.3, "%.2f"},
		{"snapshots: 20,000 unchanged files, CPU to the status of each", ratio(least["unchanged"], least["walk"]), 1.5, "%.2f"},
		{"snapshots: files read if none changed", float64(unchanged.Read), 0, "%.0f"},
		{"snapshots: bytes written if none changed, and one", float64(unchanged.Stored + 1), 1, "%.0f"},
		{"snapshots: 3 of 20,000 files changed, CPU to none", ratio(least["changed"], least["unchanged"]), 2.5, "%.2f"},
		{"snapshots: files read if 3 changed", float64(read), 3, "%.0f"},
		{"snapshots: the first of 20,000 files, CPU to git add -A", ratio(firstTime, firstGit), 0.6, "%.2f"},
		{"snapshots: bytes stored by the first, to those of the files", float64(first.Stored) / float64(raw), 0.35, "%.2f"},
		{"snapshots: bytes of memory an entry", memory, 400, "%.0f"},
	}, nil
}

// copySources makes a workspace of Go's sources, with the number of files that is measured.
func copySources(ctx context.Context, to string) (size int64, err error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return 0, err
	}
	from, count := filepath.Join(strings.TrimSpace(string(root)), "src"), 0
	for round := 0; count < snapshotFiles; round++ {
		before := count
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.Contains(path, "testdata") {
				return err
			}
			if count == snapshotFiles {
				return fs.SkipAll
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if round > 0 {
				content = fmt.Appendf(content, "// %d %d\n", round, count)
			}
			name := filepath.Join(to, fmt.Sprint(round), strings.TrimPrefix(path, from))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			count++
			size += int64(len(content))
			return os.WriteFile(name, content, 0o644)
		})
		if err != nil {
			return size, err
		}
		if count == before {
			return size, fmt.Errorf("there are no sources of Go in %s", from)
		}
	}
	return size, nil
}

// runGit runs git with its data outside of the workspace, and returns its CPU time.
func runGit(ctx context.Context, ws, git string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.autocrlf=false", "--git-dir", git, "--work-tree", ws}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// statAll asks for the status of every file, and does nothing else.
func statAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		var st unix.Stat_t
		if err == nil {
			err = unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		}
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			err = statAll(dir + "/" + name)
		}
	}
	return err
}

// timed returns the CPU time of this process during f.
func timed(f func() error) (time.Duration, error) {
	runtime.GC()
	before := cpuTime()
	err := f()
	return cpuTime() - before, err
}

func heapSize() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
