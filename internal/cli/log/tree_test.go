package log

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// wideLog is perstackLog on a terminal of so many columns.
func wideLog(t *testing.T, s store.Store, width int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	h := &host.Host{Stdout: &out, Stderr: &out, StdoutIsTerminal: true, Width: width, Dir: t.TempDir(), Home: t.TempDir(), Command: "perstack", Source: engine.FixedSource(noon)}
	cmd := New(h, func(ctx context.Context, opts *Options) error {
		opts.Store = s
		return run(ctx, opts)
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTreeIsAsWideAsTheTerminal(t *testing.T) {
	s := memory.New()
	tellTeam(t, s)
	for _, width := range []int{60, 80, 120, 200} {
		out := wideLog(t, s, width, "teamjob", "--tree")
		testkit.Golden(t, fmt.Sprintf("tree_%d.golden", width), out)
		for l := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > width && strings.Contains(l, `"`) {
				t.Errorf("%d columns on %d: %s", n, width, l)
			}
		}
	}
}

// A bundle is a survey that is fed without a store: encoding and decoding the records of
// ten thousand Runs is not what is tested.
type bundle struct {
	*survey
	seq  int64
	step int
}

func (b *bundle) tell(run string, bodies ...event.Body) {
	for _, body := range bodies {
		b.seq++
		r := store.Record{Seq: b.seq, Event: event.Event{JobID: "job", RunID: run, ExpertKey: "e", StepNumber: b.step, Timestamp: b.seq, Body: body}}
		newest, _ := b.history.Head()
		before, after := b.history.Apply(r)
		b.tree.add(r.Event, nil, before, after, newest, b.history)
	}
}

func id(name string, i int) string { return fmt.Sprintf("%s%d", name, i) }

// Ten thousand Runs, deep or wide or one after another, take a line each, and no line is
// longer because of the others.
func TestTreeOfManyRuns(t *testing.T) {
	runs := 10_000
	if testing.Short() {
		runs = 1_000
	}
	start := func(i int) event.StartRun {
		return event.StartRun{InputMessages: []*event.Message{say(event.UserMessage, "Go")}, CheckpointID: id("cp", i), Expert: ref("e")}
	}
	hand := func(from, to int) event.CallDelegate {
		var b event.CallDelegate
		for i := from; i < to; i++ {
			b.Delegates = append(b.Delegates, event.DelegateRun{ToolCallID: id("c", i), RunID: id("run", i), Expert: ref("e")})
		}
		return b
	}
	for name, tell := range map[string]func(b *bundle){
		"deep": func(b *bundle) {
			for i := range runs {
				body := start(i)
				if i > 0 {
					body.DelegatedBy = withCall(parent(id("run", i-1), "e", id("cp", i-1)), id("c", i))
				}
				b.tell(id("run", i), body, hand(i+1, min(i+2, runs)), event.StopRunByDelegate{})
			}
		},
		"wide": func(b *bundle) { b.tell("run0", start(0), hand(1, runs), event.StopRunByDelegate{}) },
		"chain": func(b *bundle) {
			for i := range runs {
				body := start(i)
				if i > 0 {
					body.From = &event.Origin{RunID: id("run", i-1), CheckpointID: id("cp", i-1)}
				}
				b.tell(id("run", i), body, event.CompleteRun{NewMessage: say(event.ExpertMessage, "Done.")})
			}
		},
		"branches of branches": func(b *bundle) {
			for i := range runs {
				body := start(i)
				if i > 1 {
					body.From = &event.Origin{RunID: id("run", i-2), CheckpointID: id("cp", i-2)}
				}
				b.tell(id("run", i), body, event.CompleteRun{NewMessage: say(event.ExpertMessage, "Done.")})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bundle{survey: &survey{history: engine.NewHistory(), tree: newTree()}}
			tell(b)
			var text, data bytes.Buffer
			for _, out := range []*bytes.Buffer{&text, &data} {
				b.opts = &Options{Host: &host.Host{Width: 100}, JSON: out == &data}
				w := bufio.NewWriter(out)
				if err := errors.Join(b.printTree(w), w.Flush()); err != nil {
					t.Fatal(err)
				}
			}
			for what, out := range map[string]string{" steps, 0 tokens": text.String(), `"head":`: data.String()} {
				n := 0
				for l := range strings.Lines(out) {
					n += strings.Count(l, what)
					if len(l) > 500 {
						t.Fatalf("a line of %d bytes: %.200q", len(l), l)
					}
				}
				if n != runs {
					t.Errorf("%d runs are shown, by %q", n, what)
				}
			}
		})
	}
}

// A journal that was made up may say anything about who came from whom.
func TestTreeOfACircle(t *testing.T) {
	s := memory.New()
	st := begin(t, s, "oddjob", "a", "e", noon)
	st.start("Go", "cp1", &event.Origin{RunID: "b", CheckpointID: "cp2"})
	st.tell(event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "c", RunID: "a"}, {ToolCallID: "c", RunID: "b"}, {ToolCallID: "d", RunID: "b"}}})
	st.as("b", "e", 1).child("Go", "cp2", "c", parent("b", "e", "cp2"), nil)
	st.tell(event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "c", RunID: "a"}}})
	st.as("d", "e", 1).child("Go", "cp3", "c", parent("nobody", "e", "cp9"), &event.Origin{RunID: "a", CheckpointID: "cp8"})
	st.as("f", "e", 1).tell(event.StartGeneration{}) // without a start
	st.end()
	out, errOut, code := perstackLog(t, s, "oddjob", "--tree")
	if code != 0 || errOut != "" {
		t.Errorf("code %d, stderr %q", code, errOut)
	}
	for _, run := range []string{"e  a", "e  b", "e  d", "e  f"} {
		if strings.Count(out, run+"  ")+strings.Count(out, run+" (head)") != 1 {
			t.Errorf("run %q does not appear once:\n%s", run, out)
		}
	}
}

// Where the journal does not have the turn of a call, no step is made up for it.
func TestTreeWithoutTheTurn(t *testing.T) {
	s := memory.New()
	st := begin(t, s, "cutjob", "a", "e", noon)
	st.start("Go", "cp1", nil)
	st.tell(event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "c", RunID: "b", Expert: ref("f")}}}, event.StopRunByDelegate{})
	st.end()
	out, _, _ := perstackLog(t, s, "cutjob", "--tree")
	if !strings.Contains(out, "└─ delegated → f  b  notStarted") {
		t.Errorf("drawn:\n%s", out)
	}
}

// A job whose process died while a delegate worked waits at its head. A query continues after
// it; a delegate that starts from an earlier checkpoint is a branch.
func TestTreeAfterACrash(t *testing.T) {
	from := &event.Origin{RunID: "boss1", CheckpointID: "b1"}
	again := event.DelegateRun{ToolCallID: "c2", RunID: "busy2", Expert: ref("busy"), From: &event.Origin{RunID: "busy1", CheckpointID: "u1"}}
	for name, tt := range map[string]struct {
		start event.StartRun
		want  string
	}{
		"query":  {event.StartRun{InputMessages: []*event.Message{say(event.UserMessage, "Never mind")}, CheckpointID: "b2", Expert: ref("boss"), From: from}, "\nboss  boss2 (head)  "},
		"branch": {event.StartRun{InputMessages: []*event.Message{}, CheckpointID: "b2", Expert: ref("boss"), From: from, Delegates: []event.DelegateRun{again}}, "\n└─ from step 1, checkpoint b1 → boss  boss2 (head)  "},
	} {
		s := memory.New()
		st := tellQueue(t, s)
		st.tell(event.StopRunByInterrupt{Reason: "the process ended before it could save"})
		st.as("boss2", "boss", 2).tell(tt.start)
		st.end()
		if out, _, _ := perstackLog(t, s, "queuejob", "--tree"); !strings.Contains(out, tt.want) {
			t.Errorf("%s: want %q in\n%s", name, tt.want, out)
		}
	}
}

func TestTreeFlags(t *testing.T) {
	s := memory.New()
	tellTeam(t, s)
	for args, want := range map[string]string{
		"teamjob --tree --records":      "--records does not go with --tree",
		"teamjob --tree --errors":       "--errors does not go with --tree",
		"teamjob --tree --take 5":       "--take does not go with --tree",
		"teamjob --tree --run missing":  "no run missing in job teamjob",
		"teamjob --tree --verify":       "--tree does not go with --verify",
		"teamjob --tree --checkpoint x": "--tree does not go with --checkpoint",
	} {
		out, errOut, code := perstackLog(t, s, strings.Fields(args)...)
		if code != host.ExitUsage || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("log %s: code %d, stdout %q, stderr %q, want %q", args, code, out, errOut, want)
		}
	}
}

// On a narrow terminal no row is wider than it, but for ids, which are never cut, and sentences,
// which the terminal breaks.
func TestNarrowTerminal(t *testing.T) {
	const width = 20
	s := memory.New()
	tellTeam(t, s)
	check := func(out string, laidOut func(line string) bool) {
		t.Helper()
		found := 0
		for l := range strings.Lines(out) {
			if l = strings.TrimSuffix(l, "\n"); !laidOut(l) {
				continue
			}
			if found++; utf8.RuneCountInString(l) > width {
				t.Errorf("wider than %d columns: %s", width, l)
			}
		}
		if found == 0 {
			t.Errorf("nothing to check in\n%s", out)
		}
	}
	indented := func(l string) bool { return strings.HasPrefix(l, "  ") && !strings.Contains(l, "heckpoint") }
	check(wideLog(t, s, width), func(string) bool { return true })
	check(wideLog(t, s, width, "teamjob", "--tree"), func(l string) bool {
		return strings.Contains(l, `"`) || strings.Contains(l, "steps") && !strings.Contains(l, ":")
	})
	check(wideLog(t, s, width, "teamjob", "--events"), func(l string) bool { return indented(l) || strings.HasPrefix(l, "[") || strings.HasPrefix(l, "─") })
	for _, width := range []int{0, 100} {
		if out := wideLog(t, s, width); !strings.HasPrefix(out, "JOB ") {
			t.Errorf("on %d columns:\n%s", width, out)
		}
	}
}
