//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/perstack-go/perstack/internal/workspace"
)

// workspaceRead compares reading a file through the workspace with os.ReadFile. The workspace has
// what a run has: a storage with jobs and two env files, all of which are looked at for
// every file that is read.
//
// The promise is about a directory that the call before went to as well, as most do. The
// other figure is the worst case: no directory on the way is that of the call before.
func workspaceRead(ctx context.Context, dir string) ([]figure, error) {
	const here, there = "a/b/c/d/file.txt", "e/f/g/h/file.txt"
	dir = filepath.Join(dir, "workspace")
	for path, size := range map[string]int{
		here: readSize, there: readSize, ".env": 100, ".env.local": 100, "perstack/jobs/job/journal.jsonl": 100,
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o644); err != nil {
			return nil, err
		}
	}
	w, err := workspace.Open(dir, workspace.Options{Protected: []string{
		filepath.Join(dir, "perstack"), filepath.Join(dir, ".env"), filepath.Join(dir, ".env.local"),
	}})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	same, err := compare(ctx, w, here, here)
	if err != nil {
		return nil, err
	}
	other, err := compare(ctx, w, here, there)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"workspace: read a 10 KB file at depth 4, to os.ReadFile", same, 2, "%.2f"},
		{"workspace: the same, every time in other directories", other, 0, "%.2f"},
	}, nil
}

// readSize is the size of the files that are read.
const readSize = 10 << 10

// compare returns how much longer it takes to read the files by turns through the workspace
// than with os.ReadFile. Both do it by turns, and of many rounds the quickest of each
// counts: whatever else the machine does can only add to it. A round is so long that the
// collector runs in it.
func compare(ctx context.Context, w *workspace.Workspace, names ...string) (float64, error) {
	ways := []func(name string) ([]byte, error){
		func(name string) ([]byte, error) { return os.ReadFile(w.Path() + "/" + name) },
		func(name string) ([]byte, error) {
			_, data, err := w.ReadFile(ctx, name, 1<<20)
			return data, err
		},
	}
	least := []time.Duration{time.Hour, time.Hour}
	for range 100 {
		for i, read := range ways {
			begin := time.Now()
			for n := range 500 {
				if data, err := read(names[n%len(names)]); err != nil || len(data) != readSize {
					return 0, fmt.Errorf("read %d bytes, want %d: %w", len(data), readSize, err)
				}
			}
			least[i] = min(least[i], time.Since(begin))
		}
	}
	return float64(least[1]) / float64(least[0]), nil
}
