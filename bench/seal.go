//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// seal measures what sealing adds to a step of perstack run: the CPU of a seal for each record
// and each commit, to that of the whole step, and the syncs of a sealed journal to those of one
// without. The difference of two whole jobs would be lost in the noise.
func seal(ctx context.Context, dir string, p programs) ([]figure, error) {
	const steps = 100
	const answer = "[[turn]]\ntext = \"Done.\"\n"
	var script strings.Builder
	for i := range steps {
		fmt.Fprintf(&script, "[[turn]]\n[[turn.call]]\ntool = \"todo\"\nargs = { newTodos = [\"do %d\"] }\n", i)
	}
	long, err := costOf(ctx, dir, p, script.String()+answer)
	if err != nil {
		return nil, err
	}
	short, err := costOf(ctx, dir, p, answer)
	if err != nil {
		return nil, err
	}
	step := (long.cpu - short.cpu) / steps

	// The records are those of a job that is like it.
	history := file.New(filepath.Join(dir, "unsealed"), nil)
	if err := driveIn(ctx, history, steps, func() {}); err != nil {
		return nil, err
	}
	var events []event.Event
	for r, err := range history.Read(ctx, "long", 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, r.Event)
	}
	sealer := store.NewSealer("bench", store.SealKey{1})
	plain, err := countSyncs(ctx, filepath.Join(dir, "plain"), events, nil)
	if err != nil {
		return nil, err
	}
	sealed, err := countSyncs(ctx, filepath.Join(dir, "sealed"), events, sealer)
	if err != nil {
		return nil, err
	}
	without, err := encodeAll(events, nil)
	if err != nil {
		return nil, err
	}
	with, err := encodeAll(events, sealer)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"CPU of the seals of a step, percent of the step", 100 * float64(with-without) / steps / float64(step), 2, "%.2f"},
		{"syncs of a sealed journal, to one without seals", float64(sealed) / float64(plain), 1, "%.2f"},
	}, nil
}

// costOf is what a run against a scripted model costs.
func costOf(ctx context.Context, dir string, p programs, script string) (cost, error) {
	url, stop, err := serve(script)
	if err != nil {
		return cost{}, err
	}
	defer stop()
	return p.measured(ctx, 5, 0, run(ctx, dir, p, url, "--events", "lean"))
}

// commitEvery is the number of records between two commits, which is less than a job has.
const commitEvery = 4

// countSyncs writes a journal and counts its syncs.
func countSyncs(ctx context.Context, dir string, events []event.Event, sealer *store.Sealer) (int, error) {
	disk := &syncCount{}
	j, err := file.New(dir, &file.Options{Disk: disk}).WithSeal(sealer).Open(ctx, "long")
	if err != nil {
		return 0, err
	}
	for i, e := range events {
		_, err := j.Append(ctx, e)
		if err == nil && i%commitEvery == 0 {
			err = j.Commit(ctx)
		}
		if err != nil {
			return 0, errors.Join(err, j.Close())
		}
	}
	return disk.n, j.Close()
}

// encodeAll returns the CPU of making the records of a job, and of sealing the heads.
func encodeAll(events []event.Event, sealer *store.Sealer) (least time.Duration, err error) {
	least = time.Hour
	for range 50 {
		chain := store.Chain{JobID: "long", Sealer: sealer}
		before := cpuTime()
		for i, e := range events {
			r, err := chain.Next(e)
			if err == nil {
				err = chain.Accept(r)
			}
			if err == nil && i%commitEvery == 0 {
				_, err = sealer.SealHead("bench", "long", chain.Head)
			}
			if err != nil {
				return 0, err
			}
		}
		least = min(least, cpuTime()-before)
	}
	return least, nil
}

// A syncCount counts the syncs of a store.
type syncCount struct{ n int }

// Do implements [file.Disk].
func (c *syncCount) Do(op, _ string, size int, run func(int) error) error {
	if op == file.OpSync {
		c.n++
	}
	return run(size)
}
