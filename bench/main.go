//go:build unix

// Command bench measures what SPECIFICATION.md promises and prints a table with the
// promise beside each figure. Figures are counts, or ratios of two measurements of one
// run, so that they mean the same on every machine.
//
//	make bench
//	BENCH_STRICT=1 make bench    fail when a promise is not kept
package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"
)

// A figure is one measured promise.
type figure struct {
	name   string
	value  float64
	limit  float64
	format string // of both numbers
}

func main() {
	figures, err := measure(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tMEASURED\tPROMISE\t")
	missed := 0
	for _, f := range figures {
		verdict := ""
		if f.value > f.limit {
			verdict, missed = "missed", missed+1
		}
		fmt.Fprintf(w, "%s\t"+f.format+"\tat most "+f.format+"\t%s\n", f.name, f.value, f.limit, verdict)
	}
	w.Flush()
	if missed > 0 && os.Getenv("BENCH_STRICT") == "1" {
		os.Exit(1)
	}
}

func measure(ctx context.Context) ([]figure, error) {
	dir, err := os.MkdirTemp("", "perstack-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := project(dir); err != nil {
		return nil, err
	}
	binaries, err := buildAll(ctx, dir)
	if err != nil {
		return nil, err
	}
	var all []figure
	for _, measure := range []func() ([]figure, error){
		func() ([]figure, error) { return startUp(ctx, dir, binaries) },
		func() ([]figure, error) { return conversation(ctx, dir, binaries) },
		func() ([]figure, error) { return flatCost(ctx, dir) },
		func() ([]figure, error) { return longJob(ctx, dir) },
	} {
		figures, err := measure()
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	return all, nil
}
