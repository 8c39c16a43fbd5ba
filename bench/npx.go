//go:build unix

package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// npx measures what isolation and the sandboxes cost an Expert with three servers from npm,
// each of which answers once. The measuring is done by a benchmark: see package bench/npx.
// On a machine without a daemon or the components it is left out; in CI both are there.
func npx(ctx context.Context) ([]figure, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-run", "^$", "-bench", "BenchmarkThreeSkills", "-benchtime", "5x", "./bench/npx")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	values := map[string]float64{}
	for _, m := range regexp.MustCompile(`([0-9.]+) (builtin|sandbox|docker)-ms`).FindAllStringSubmatch(string(out), -1) {
		if values[m[2]], err = strconv.ParseFloat(m[1], 64); err != nil {
			return nil, err
		}
	}
	if values["builtin"] == 0 {
		return nil, nil // skipped, which in CI is a failure
	}
	return []figure{
		{"npx: time of a run with three skills in a container, to built-in", values["docker"] / values["builtin"], 5, "%.1f"},
		{"npx: time of that run in sandboxes, to built-in", values["sandbox"] / values["builtin"], 1.5, "%.2f"},
		{"npx: that run built-in, ms", values["builtin"], 0, "%.0f"},
		{"npx: that run in a container, ms", values["docker"], 0, "%.0f"},
	}, nil
}
