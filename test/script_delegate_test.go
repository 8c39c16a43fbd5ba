package test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perstack-go/perstack/event"
)

// runs compares the Runs on the last standard output, of a run or of perstack log --json, with
// a file: one line a Run, of its Expert, of the Expert that delegated, and of its state
// events. A Run that was resumed under the same id is one line. Lines can be in any
// order, since parallel Runs start in any.
func runs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: runs FILE")
	}
	lines := make(map[string]string)
	for _, e := range events(ts) {
		if e.IsRuntime() || !e.IsKept() || e.IsRecordOnly() {
			continue
		}
		line := lines[e.RunID]
		if line == "" {
			line = e.ExpertKey
			if b, ok := e.Body.(event.StartRun); ok {
				line += by(b)
			}
			line += ":"
		}
		lines[e.RunID] = fmt.Sprintf("%s %s@%d", line, e.Type(), e.StepNumber)
	}
	var got []string
	for _, line := range lines {
		got = append(got, line)
	}
	var want []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if line = strings.TrimSpace(line); line != "" {
			want = append(want, line)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		ts.Fatalf("runs\n got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func by(b event.StartRun) string {
	parent := b.DelegatedBy
	if parent == nil && b.InitialCheckpoint != nil {
		parent = b.InitialCheckpoint.DelegatedBy
	}
	if parent == nil {
		return ""
	}
	return " of " + parent.Expert.Key
}

// extends checks that a file begins with all that another one has.
func extends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: extends NEW OLD")
	}
	newer, older := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	switch {
	case older == "":
		ts.Fatalf("%s is empty", args[1])
	case !strings.HasPrefix(newer, older):
		ts.Fatalf("%s does not begin with what %s has", args[0], args[1])
	case len(newer) == len(older):
		ts.Fatalf("%s has nothing more than %s", args[0], args[1])
	}
}
