//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/perstack-go/perstack/internal/protect"
)

// trustRecord compares the record of trusted files, at the begin and at the end of a run, with
// reading all directories of the workspace. The workspace has 20,000 files, ten env files, two
// repositories and a perstack.toml. Up to recordBase a record may cost in any workspace; the
// figures are what is beyond, to the time of reading the directories.
func trustRecord(ctx context.Context, dir string) ([]figure, error) {
	dir = filepath.Join(dir, "trusted")
	ws := filepath.Join(dir, "ws")
	for i := range 1000 {
		at := filepath.Join(ws, fmt.Sprintf("a%d/b%d/c%d", i%10, i/10%10, i/100))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return nil, err
		}
		for n := range 20 {
			if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("file-%d.txt", n)), []byte("x"), 0o644); err != nil {
				return nil, err
			}
		}
	}
	names := []string{"perstack.toml", "perstack.lock"}
	for i := range 10 {
		names = append(names, fmt.Sprintf("a%d/.env", i))
	}
	for _, repository := range []string{".git", "a1/.git"} {
		for _, name := range []string{"HEAD", "config", "objects/x", "refs/x", "hooks/pre-commit.sample"} {
			names = append(names, repository+"/"+name)
		}
	}
	for _, name := range names {
		name = filepath.Join(ws, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, make([]byte, 1<<10), 0o644); err != nil {
			return nil, err
		}
	}
	walk, begin, end := time.Hour, time.Hour, time.Hour
	for range 20 {
		start := time.Now()
		if err := readDirs(ws); err != nil {
			return nil, err
		}
		walk = min(walk, time.Since(start))
		start = time.Now()
		watch, err := protect.Begin(ctx, protect.Options{State: filepath.Join(dir, "state"), Workspace: ws, Job: "job", Now: start})
		if err != nil {
			return nil, err
		}
		begin = min(begin, time.Since(start))
		start = time.Now()
		if report, err := watch.End(ctx, start); err != nil || len(report.Marks)+len(report.Git) > 0 {
			return nil, fmt.Errorf("the record: %v, %w", report, err)
		}
		end = min(end, time.Since(start))
	}
	beyond := func(d time.Duration) float64 { return float64(max(0, d-recordBase)) / float64(walk) }
	return []figure{
		{"protect: a record of 20,000 files less 5 ms, to reading the directories", beyond(begin), 1.2, "%.2f"},
		{"protect: the end of the record less 5 ms, to reading the directories", beyond(end), 1.2, "%.2f"},
		{"protect: a record of 20,000 files, to reading the directories", float64(begin) / float64(walk), 0, "%.2f"},
		{"protect: reading the directories, in milliseconds", float64(walk.Microseconds()) / 1000, 0, "%.1f"},
	}, nil
}

// recordBase is what a record may cost in an empty workspace.
const recordBase = 5 * time.Millisecond

// readDirs reads all directories of a tree, and nothing else.
func readDirs(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	entries, err := d.ReadDir(-1)
	d.Close()
	for _, e := range entries {
		if err == nil && e.IsDir() {
			err = readDirs(dir + "/" + e.Name())
		}
	}
	return err
}
