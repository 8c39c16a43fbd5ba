package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAnthropic prints, with -v, which cases were held against the SDK in which direction.
func TestAnthropic(t *testing.T) {
	var results table
	for _, c := range goldenRequests(t) {
		results.run(t, "request", c.name, c.check)
	}
	for _, c := range conversations {
		results.run(t, "request", c.name, c.check)
	}
	for _, c := range answers {
		results.run(t, "answer", c.name, c.check)
	}
	for _, c := range refusals {
		results.run(t, "answer", c.name, c.check)
	}
	t.Logf("model/anthropic and internal/testkit/llm against anthropic-sdk-go\n%s", &results)
}

// A table says how each case went, in each direction.
type table struct {
	names []string
	cells map[[2]string]string
}

var directions = []string{"request", "answer"}

func (r *table) run(t *testing.T, direction, name string, check func(*testing.T)) {
	t.Helper()
	if r.cells == nil {
		r.cells = map[[2]string]string{}
	}
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
	at := [2]string{direction, name}
	r.cells[at] = "not run"
	t.Run(direction+"/"+name, func(t *testing.T) {
		r.cells[at] = "FAILED"
		check(t)
		if !t.Failed() {
			r.cells[at] = "equal"
		}
	})
}

func (r *table) String() string {
	var b strings.Builder
	line := func(name string, cells ...string) {
		fmt.Fprintf(&b, "  %-26s", name)
		for _, cell := range cells {
			fmt.Fprintf(&b, "  %-8s", cell)
		}
		b.WriteString("\n")
	}
	line("case", directions...)
	for _, name := range r.names {
		var cells []string
		for _, direction := range directions {
			cell, ok := r.cells[[2]string{direction, name}]
			if !ok {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		line(name, cells...)
	}
	return b.String()
}
