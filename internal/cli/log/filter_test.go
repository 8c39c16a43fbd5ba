package log

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/jq"
	"github.com/perstack-go/perstack/store/memory"
)

// rowsOf returns the first lines of the rows in a transcript, without times.
func rowsOf(out string) (rows []string) {
	for l := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(l), "● "); ok {
			name, _, _ = strings.Cut(name, "   ")
			rows = append(rows, name)
		}
	}
	return rows
}

// The transcript has the rows of the events that an expression keeps. A row belongs to every event
// that added or changed it, including those which only the journal has.
func TestExpressionsInTheTranscript(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	for expr, want := range map[string][]string{
		`.type == "retry"`:     {"Retry"},
		`.type == "callTools"`: {"Read week.md", "Run", "Read", "Question ask", "Completion Accepted"},
		`.type == "endToolCall" and .toolResult.id == "c2"`:     {"Run"},
		`.type == "startToolCall" and .toolCallId == "c3"`:      {"Read"},
		`.newMessage.contents[0]?.text // "" | test("dentist")`: {"Result"},
		`.stepNumber == 3 and .type == "startRun"`:              {"Answer ask"},
		`empty`:                   nil,
		`null`:                    nil,
		`.type == "retry", false`: {"Retry"},
		`false, true`:             nil,
		`.seq`:                    nil, // of the record, and not of the event
	} {
		out, errOut, code := perstackLog(t, s, "longjob", "--filter", expr)
		if got := rowsOf(out); !slices.Equal(got, want) || errOut != "" || code != 0 {
			t.Errorf("%s: %q, want %q; code %d, %s", expr, got, want, code, errOut)
		}
		if want == nil && !strings.Contains(out, "(no row matches)") {
			t.Errorf("%s: it does not say that nothing matches:\n%s", expr, out)
		}
	}
}

func TestExpressionsInLists(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	for args, want := range map[string]int{
		"--json --filter .":                                          22,
		"--records --filter .":                                       30,
		"--json --filter .type|test(\"Tool\")":                       8,
		"--records --filter .type|test(\"Tool\")":                    16,
		"--json --filter .type|test(\"Tool\") --take 2":              2,
		"--json --errors --filter .type==\"retry\"":                  1, // both have to hold
		"--json --filter .type==\"retry\" --context 2":               5,
		"--json --run run2 --filter .type==\"startRun\" --context 2": 3, // nothing of another Run
		"--json --filter .type==\"endToolCall\"":                     0, // it is none of the events
	} {
		out, errOut, code := perstackLog(t, s, append([]string{"longjob"}, strings.Fields(args)...)...)
		if got := strings.Count(out, "\n"); got != want || errOut != "" || code != 0 {
			t.Errorf("log longjob %s: %d lines, want %d; code %d, %s", args, got, want, code, errOut)
		}
	}
}

// An expression that does not fit an event says so, and does not hide those that it fits.
func TestExpressionFails(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	out, errOut, code := perstackLog(t, s, "longjob", "--filter", `.reason | test("RateLimit")`)
	if got := rowsOf(out); !slices.Equal(got, []string{"Retry"}) || code != 0 {
		t.Errorf("rows %q, code %d", got, code)
	}
	if want := "perstack: --filter failed for 29 events, which are left out; the first: record 1 (startRun): "; !strings.HasPrefix(errOut, want) {
		t.Errorf("stderr %q", errOut)
	}
}

// A limit of an expression ends the command: it would be met again with the next event.
func TestExpressionLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	s := memory.New()
	tellLong(t, s)
	out, errOut, code := perstackLog(t, s, "longjob", "--filter", "last(repeat(1))")
	if out != "" || code != host.ExitFailure || errOut != "--filter: record 1 (startRun): "+jq.ErrTime.Error() {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, errOut)
	}
	long := strings.Repeat(" ", jq.MaxText+1)
	if _, errOut, code := perstackLog(t, s, "longjob", "--filter", long); code != host.ExitUsage || !strings.Contains(errOut, "10001 bytes") {
		t.Errorf("code %d, stderr %q", code, errOut)
	}
}

// A window shows what is selected among the newest, and as much around it as is asked for.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Bool(), 0, 30).Draw(t, "selected")
		take, offset, context := rapid.IntRange(0, 5).Draw(t, "take"), rapid.IntRange(0, 5).Draw(t, "offset"), rapid.IntRange(0, 4).Draw(t, "context")
		var places []int
		for i, selected := range all {
			if selected {
				places = append(places, i)
			}
		}
		v := &survey{opts: &Options{Take: take, Offset: offset, Context: context}, matches: len(places)}
		kept := places[:max(len(places)-offset, 0)]
		if take > 0 {
			kept = kept[max(len(kept)-take, 0):]
		}
		var want, got []string
		for i := range all {
			if slices.ContainsFunc(kept, func(k int) bool { return max(i-k, k-i) <= context }) {
				if context > 0 && len(want) > 0 && want[len(want)-1] != fmt.Sprint(i-1) {
					want = append(want, "apart")
				}
				want = append(want, fmt.Sprint(i))
			}
		}
		w := v.window()
		w.apart = func() { got = append(got, "apart") }
		for i, selected := range all {
			if err := w.add(selected, func() error { got = append(got, fmt.Sprint(i)); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) || w.matched != len(kept) {
			t.Errorf("%v, want %v; %d matched", got, want, w.matched)
		}
	})
}

// A failed write ends it.
func TestWindowStops(t *testing.T) {
	wrong := errors.New("no space")
	w := window{end: 9, context: 1}
	if err := w.add(false, func() error { return wrong }); err != nil {
		t.Fatal(err)
	}
	if err := w.add(true, func() error { t.Error("it is shown after a failure"); return nil }); !errors.Is(err, wrong) {
		t.Error(err)
	}
}

// The checkpoint of a step is shown with each of its rows, whether it is selected or around one.
func TestCheckpointsAroundRows(t *testing.T) {
	s := memory.New()
	st := begin(t, s, "stepjob", "run1", "e", noon)
	st.start("Go", "cp1", nil)
	for i, c := range []event.ToolCall{tool("c1", event.BaseSkill, "readTextFile"), tool("c2", event.BaseSkill, "exec"), tool("c3", event.BaseSkill, "listDirectory")} {
		st.tell(event.StartGeneration{}, call(`{}`, c))
		st.answer(c, "{}")
		st.tell(event.ResolveToolResults{}, event.ContinueToNextStep{NextCheckpointID: fmt.Sprint("cp", i+2)})
	}
	st.tell(event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "Done.")})
	st.end()
	for args, want := range map[string]string{
		"":            "cp1 cp2 cp3 cp4",
		"--context 0": "cp2",
		"--context 1": "cp1 cp2 cp3",
		"--context 9": "cp1 cp2 cp3 cp4",
	} {
		args := strings.Fields(args)
		if len(args) > 0 {
			args = append(args, "--filter", `.toolResult.id == "c2"`)
		}
		out, _, _ := perstackLog(t, s, append([]string{"stepjob"}, args...)...)
		var got []string
		for l := range strings.Lines(out) {
			if _, id, ok := strings.Cut(l, "── checkpoint "); ok {
				id, _, _ = strings.Cut(id, ",")
				got = append(got, id)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: checkpoints %v, want %s:\n%s", args, got, want, out)
		}
	}
}
