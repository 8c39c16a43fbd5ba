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

// fence compares reading a file through the fence with os.ReadFile. The workspace has
// what a run has: a storage with jobs and two env files, all of which are looked at for
// every file that is read.
//
// Both read in turns, and of many rounds the quickest of each counts: whatever else the
// machine does can only add to it. A round is so long that the collector runs in it.
func fence(ctx context.Context, dir string) ([]figure, error) {
	const name, size = "a/b/c/d/file.txt", 10 << 10
	dir = filepath.Join(dir, "fence")
	for path, size := range map[string]int{
		name: size, ".env": 100, ".env.local": 100, "perstack/jobs/job/journal.jsonl": 100,
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
	path := filepath.Join(w.Path(), name)
	ways := []func() ([]byte, error){
		func() ([]byte, error) { return os.ReadFile(path) },
		func() ([]byte, error) {
			_, data, err := w.ReadFile(ctx, name, 1<<20)
			return data, err
		},
	}
	least := []time.Duration{time.Hour, time.Hour}
	for range 100 {
		for i, read := range ways {
			begin := time.Now()
			for range 500 {
				if data, err := read(); err != nil || len(data) != size {
					return nil, fmt.Errorf("read %d bytes, want %d: %w", len(data), size, err)
				}
			}
			least[i] = min(least[i], time.Since(begin))
		}
	}
	return []figure{
		{"fence: read a 10 KB file at depth 4, to os.ReadFile", float64(least[1]) / float64(least[0]), 2, "%.2f"},
	}, nil
}
