//go:build unix

// Command bench measures what SPECIFICATION.md promises and prints a table with the
// promise beside each figure. What is promised are counts, or ratios of two measurements
// of one run, so that it means the same on every machine. Figures without a promise tell
// how fast this machine is.
//
//	make bench
//	BENCH_STRICT=1 make bench    fail when a promise is not kept
//	go run ./bench resume jobs   measure these only
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// A figure is one measurement, with what is promised of it.
type figure struct {
	name   string
	value  float64
	limit  float64 // 0 when nothing is promised
	format string  // of both numbers
}

func main() {
	sandbox.Init() // the processes that supervise commands are this program again
	figures, err := measure(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tMEASURED\tPROMISE\t")
	missed := 0
	for _, f := range figures {
		verdict, promise := "", ""
		if f.limit > 0 {
			promise = fmt.Sprintf("at most "+f.format, f.limit)
			if f.value > f.limit {
				verdict, missed = "missed", missed+1
			}
		}
		fmt.Fprintf(w, "%s\t"+f.format+"\t%s\t%s\n", f.name, f.value, promise, verdict)
	}
	w.Flush()
	if missed > 0 && os.Getenv("BENCH_STRICT") == "1" {
		os.Exit(1)
	}
}

func measure(ctx context.Context, only []string) ([]figure, error) {
	top, err := os.MkdirTemp("", "perstack-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(top)
	binaries, err := buildAll(ctx, top)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(top, "project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := project(dir); err != nil {
		return nil, err
	}
	var all []figure
	for _, m := range []struct {
		name    string
		measure func() ([]figure, error)
	}{
		{"startup", func() ([]figure, error) { return startUp(ctx, dir, binaries) }},
		{"screen", func() ([]figure, error) { return screen(ctx, dir, binaries) }},
		{"skills", func() ([]figure, error) { return skills(ctx, dir, binaries) }},
		{"conversation", func() ([]figure, error) { return conversation(ctx, dir, binaries) }},
		{"flat", func() ([]figure, error) { return flatCost(ctx, dir) }},
		{"longjob", func() ([]figure, error) { return longJob(ctx, dir) }},
		{"seal", func() ([]figure, error) { return seal(ctx, dir, binaries) }},
		{"delegates", func() ([]figure, error) { return delegates(ctx, dir, binaries) }},
		{"jobs", func() ([]figure, error) { return jobs(ctx, dir, binaries) }},
		{"resume", func() ([]figure, error) { return resume(ctx, dir, binaries) }},
		{"workspace", func() ([]figure, error) { return workspaceRead(ctx, dir) }},
		{"protect", func() ([]figure, error) { return trustRecord(ctx, dir) }},
		{"snapshots", func() ([]figure, error) { return snapshots(ctx, dir) }},
		{"limits", func() ([]figure, error) { return diskLimits(ctx, dir) }},
		{"sandbox", func() ([]figure, error) { return sandboxes(ctx, dir, binaries) }},
		{"egress", func() ([]figure, error) { return egress(ctx, binaries) }},
		{"registry", func() ([]figure, error) { return registry(ctx, dir, binaries) }},
		{"docker", func() ([]figure, error) { return docker(ctx, dir, binaries) }},
		{"npx", func() ([]figure, error) { return npx(ctx) }},
		{"tools", func() ([]figure, error) { return tools(ctx, dir, binaries) }},
	} {
		if len(only) > 0 && !slices.Contains(only, m.name) {
			continue
		}
		figures, err := m.measure()
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	return all, nil
}
