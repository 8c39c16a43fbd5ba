//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// jobs measures 200 jobs of 20 steps in one process: all at once, and one after another.
// Each step reads a file of 1 KB, and each job has a history on disk.
func jobs(ctx context.Context, dir string, p programs) ([]figure, error) {
	const many, each = 200, 20
	text := []byte(strings.Repeat("A line of 32 bytes, as they go.\n", 32))
	command := func(n, atOnce int) func() *exec.Cmd {
		return func() *exec.Cmd {
			place, err := os.MkdirTemp(dir, "jobs-")
			files := filepath.Join(place, "files")
			err = cmp.Or(err, os.Mkdir(files, 0o700))
			for i := range 2 {
				err = cmp.Or(err, os.WriteFile(filepath.Join(files, fmt.Sprintf("text%d.txt", i)), text, 0o600))
			}
			if err != nil {
				place = dir // the jobs say what is wrong
			}
			return exec.CommandContext(ctx, p.jobs, place, strconv.Itoa(n), strconv.Itoa(atOnce), strconv.Itoa(each))
		}
	}
	rounds, err := p.compared(ctx, 9, trial{0, command(0, 1)}, trial{0, command(many, many)}, trial{0, command(many, 1)})
	if err != nil {
		return nil, err
	}
	// The minimum of each would compare one that ran at a quiet moment with one that did
	// not: parallel jobs need all cores to be quiet. Runs that follow each other have equal conditions.
	var shares []float64
	for _, r := range rounds {
		shares = append(shares, float64(r[1].cpu-r[0].cpu)/float64(r[2].cpu-r[0].cpu))
	}
	slices.Sort(shares)
	best := least(rounds)
	none, together, apart := best[0], best[1], best[2]
	return []figure{
		{"CPU a step of 200 jobs at once, to a single job", shares[len(shares)/2], 1.5, "%.2f"},
		{"memory of 200 jobs at once, MB", together.peak, 0, "%.0f"},
		{"memory of the same jobs one after another, MB", apart.peak, 0, "%.0f"},
		{"steps a second of 200 jobs at once", many * each / (together.elapsed - none.elapsed).Seconds(), 0, "%.0f"},
		{"steps a second of a single job", many * each / (apart.elapsed - none.elapsed).Seconds(), 0, "%.0f"},
	}, nil
}
