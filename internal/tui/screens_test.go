package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/vt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/rawjson"
)

// sizes are those of the golden screens.
var sizes = []struct{ width, height int }{{40, 12}, {80, 24}, {120, 40}}

// trip is a project with something of everything.
func trip() *fakeProject {
	ago := func(d time.Duration) int64 { return begun.Add(-d).UnixMilli() }
	f := &fakeProject{
		experts: []Expert{
			{Key: "lead", Description: "plans trips and delegates the search for flights and hotels"},
			{Key: "finder", Description: "finds flights"}, {Key: "日本語ガイド", Description: "東京と京都の案内をします。日本語で答えます。"},
			{Key: "@acme/old", Recent: true, Job: "oldjob"},
		},
		jobs: []Job{
			{ID: "r58pyt2kq", Prefix: "r58p", Expert: "lead", Status: "running", Running: true, Steps: 4, Cost: 0.12, At: ago(12 * time.Second), Query: "Plan a weekend in Lisbon"},
			{ID: "k2m9aaaaa", Prefix: "k2m9", Expert: "finder", Status: "completed", Steps: 12, Cost: 1.5, At: ago(3 * time.Hour), Query: "Flights in May\nand hotels"},
			{ID: "q77xbbbbb", Prefix: "q77xb", Expert: "日本語ガイド", Status: "stoppedByInteractiveTool", Steps: 1, At: ago(50 * time.Hour), Query: "京都の寺を三つ教えてください 🏯👨‍👩‍👧"},
			{ID: "z0000cccc", Prefix: "z000", Expert: "writer", Status: "stoppedByError", Steps: 2, At: ago(400 * time.Hour), Query: "שלום, כתוב מכתב קצר"},
		},
		checkpoints: []Checkpoint{
			{ID: "cp3", Step: 3, At: ago(time.Hour), Expert: "lead", Files: 2},
			{ID: "cp2", Step: 2, At: ago(2 * time.Hour), Expert: "finder", Files: 1},
			{ID: "cp1", Step: 1, At: ago(3 * time.Hour), Expert: "lead", Files: -1},
		},
		diff: "diff notes.txt\n--- notes.txt at step 3\n+++ notes.txt now\n@@ -1,2 +1,2 @@\n-old line\n+new line, which is longer than forty columns are wide, so it is broken\n 京都\n",
	}
	for i, b := range []event.Body{event.StartGeneration{}, event.CallTools{}, event.StartToolCall{}, event.EndToolCall{}} {
		f.events = append(f.events, event.Event{ID: fmt.Sprint("e", i), JobID: "k2m9aaaaa", RunID: "r1", ExpertKey: "lead", StepNumber: 3, Timestamp: ago(time.Hour) + int64(i)*1000, Body: b})
	}
	return f
}

func callRow() narrate.Row {
	return narrate.Row{
		ID: "row", Kind: narrate.Tool, State: narrate.Failed, Label: "Run", Argv: []string{"sh", "-c", "go test ./... | tail"}, Dir: "sub", SkillName: event.BaseSkill, Step: 3,
		Began: begun.Add(-time.Hour).UnixMilli(), At: begun.Add(-time.Hour + 8200*time.Millisecond).UnixMilli(), Event: "e3", Checkpoint: "cp3",
		Args: rawjson.Value(`{"command":"sh","args":["-c","go test ./... | tail"],"cwd":"sub"}`), Output: "ok   example/a  0.4s\nFAIL example/b  0.2s\n" + strings.Repeat("line\n", 60) + "the last line",
	}
}

// screens are all screens of this file's project, by name.
var screens = []struct {
	name    string
	project func() *fakeProject
	open    func(d *driver)
}{
	{"experts", trip, func(d *driver) { d.replace(newExperts(d.p)); d.press("down") }},
	{"experts filtered", trip, func(d *driver) { d.replace(newExperts(d.p)); d.enter("fi") }},
	{"experts empty", func() *fakeProject { return &fakeProject{} }, func(d *driver) { d.replace(newExperts(d.p)) }},
	{"experts failed", func() *fakeProject {
		return &fakeProject{err: errors.New("perstack.toml:3:7: \"instuction\" is not a key of an Expert; did you mean \"instruction\"?")}
	}, func(d *driver) { d.replace(newExperts(d.p)) }},
	{"history", trip, func(d *driver) { d.replace(newHistory(d.p)); d.press("down") }},
	{"history filter", trip, func(d *driver) { d.replace(newHistory(d.p)); d.press("/"); d.enter("fl") }},
	{"history delete", trip, func(d *driver) { d.replace(newHistory(d.p)); d.press("down", "x") }},
	{"history empty", func() *fakeProject { return &fakeProject{} }, func(d *driver) { d.replace(newHistory(d.p)) }},
	{"checkpoints", trip, func(d *driver) { d.replace(newHistory(d.p)); d.press("down", "c"); d.settle() }},
	{"checkpoints rewind", trip, func(d *driver) { d.replace(newHistory(d.p)); d.press("down", "c"); d.settle(); d.press("w") }},
	{"checkpoints empty", func() *fakeProject { f := trip(); f.checkpoints = nil; return f }, func(d *driver) { d.replace(newHistory(d.p)); d.press("c"); d.settle() }},
	{"diff", trip, func(d *driver) {
		d.replace(newHistory(d.p))
		d.press("down", "c")
		d.settle()
		d.press("d")
		d.settle()
	}},
	{"events", trip, func(d *driver) {
		d.replace(newHistory(d.p))
		d.press("down", "c")
		d.settle()
		d.press("e")
		d.settle()
	}},
	{"record", trip, func(d *driver) {
		d.replace(newHistory(d.p))
		d.press("down", "c")
		d.settle()
		d.press("e")
		d.settle()
		d.press("down", "enter")
		d.settle()
	}},
	{"detail", trip, func(d *driver) { d.replace(newDetail(d.p, "k2m9aaaaa", callRow())) }},
	{"detail search", trip, func(d *driver) {
		d.replace(newDetail(d.p, "k2m9aaaaa", callRow()))
		d.press("/")
		d.enter("last line")
		d.press("enter")
	}},
}

// replace shows a screen alone and waits for what it reads.
func (d *driver) replace(s screen) {
	d.t.Helper()
	d.start(d.p.replace(s))
	d.settle()
}

// TestScreens compares every screen with what it looked like, in all sizes, with and without colours.
func TestScreens(t *testing.T) {
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			var all strings.Builder
			for _, size := range sizes {
				for _, look := range []paint.Palette{{Color: true, Unicode: true}, {}} {
					d := drive(t, s.project(), size.width, size.height, func(o *Options) { o.Palette = look })
					s.open(d)
					fmt.Fprintf(&all, "-- %dx%d, colours %t\n%s\n", size.width, size.height, look.Color, d.golden())
				}
			}
			testkit.Golden(t, strings.ReplaceAll(s.name, " ", "_")+".golden", all.String())
		})
	}
}

// golden is the screen with its sequences in a readable form, as an edge shows.
func (d *driver) golden() string {
	d.t.Helper()
	content := d.p.View().Content
	emulator := vt.NewEmulator(d.p.width+1, d.p.height+1)
	defer emulator.Close()
	if _, err := emulator.WriteString(strings.ReplaceAll(content, "\n", "\r\n")); err != nil {
		d.t.Fatal(err)
	}
	for y := range d.p.height + 1 { // nothing may be outside of the terminal
		if c := emulator.CellAt(d.p.width, y); c != nil && strings.TrimSpace(c.Content) != "" {
			d.t.Errorf("line %d is too wide:\n%s", y+1, content)
		}
	}
	var out []string
	for line := range strings.SplitSeq(content, "\n") {
		line = strings.ReplaceAll(line, "\x1b[0m", "›")
		for {
			before, after, ok := strings.Cut(line, "\x1b[")
			if !ok {
				break
			}
			codes, rest, _ := strings.Cut(after, "m")
			line = before + "‹" + codes + "|" + rest
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return strings.Join(out, "\n")
}

// TestHostileScreens shows text that would act on a terminal, wherever the project has it from.
func TestHostileScreens(t *testing.T) {
	const hostile = "a\x1b[31mred\x1b[2J\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\u009b31m\x7f\x08\rover\u202e\u2066txt\u2069\u2028\ufeff\xff\nforged\tx"
	evil := func() *fakeProject {
		f := trip()
		for i := range f.experts {
			f.experts[i].Key, f.experts[i].Description = hostile+fmt.Sprint(i), hostile
		}
		for i := range f.jobs {
			j := &f.jobs[i]
			j.Prefix, j.Expert, j.Status, j.Query = hostile, hostile, hostile, hostile
		}
		for i := range f.checkpoints {
			f.checkpoints[i].Expert = hostile
		}
		for i := range f.events {
			f.events[i].ExpertKey = hostile
		}
		f.diff = "+" + hostile
		return f
	}
	row := callRow()
	row.Label, row.Argv, row.Dir, row.SkillName, row.Output, row.Args, row.Checkpoint = hostile, []string{hostile}, hostile, hostile, hostile, rawjson.Value(hostile), hostile
	for _, s := range screens {
		if s.name == "experts failed" {
			continue
		}
		d := drive(t, evil(), 80, 24)
		s.open(d)
		checkHarmless(t, s.name, d.p.View().Content)
	}
	d := drive(t, evil(), 80, 24)
	d.replace(newDetail(d.p, "x", row))
	checkHarmless(t, "detail", d.p.View().Content)
	failing := &fakeProject{err: errors.New(hostile)}
	d = drive(t, failing, 80, 24)
	d.replace(newHistory(d.p))
	checkHarmless(t, "history failed", d.p.View().Content)
}

func checkHarmless(t *testing.T, name, content string) {
	t.Helper()
	for i, r := range plain(strings.ReplaceAll(content, "\n", " ")) {
		if unicode.IsControl(r) || strings.ContainsRune("\u202e\u2066\u2069\u2028\ufeff", r) {
			t.Fatalf("%s: %U at %d of %q", name, r, i, content)
		}
	}
	if lines := strings.Count(content, "\n") + 1; lines != 24 {
		t.Errorf("%s: %d lines, want 24", name, lines)
	}
}

// A slowProject counts what is asked of its history, and gives all of it only when it may.
type slowProject struct {
	*fakeProject
	rest chan struct{}
}

func (p *slowProject) Jobs(ctx context.Context, most int) ([]Job, error) {
	if most == 0 {
		<-p.rest
	}
	return p.fakeProject.Jobs(ctx, most)
}

// TestLongHistory paints the first page before the rest is read. What is selected stays selected.
func TestLongHistory(t *testing.T) {
	f := &fakeProject{}
	for i := range 10_000 {
		f.jobs = append(f.jobs, Job{ID: fmt.Sprintf("job%05d", i), Expert: "lead", Status: "completed", At: begun.UnixMilli(), Query: "q"})
	}
	slow := &slowProject{f, make(chan struct{})}
	d := drive(t, f, 80, 24, func(o *Options) { o.Project, o.Entry = Project(slow), EntryExperts })
	s := newHistory(d.p).(*history)
	d.start(d.p.replace(s))
	d.shows("(1/100)")
	d.press("down", "down")
	close(slow.rest)
	d.shows("(3/10000)")
	if j, _ := s.selected(); j.ID != "job00002" {
		t.Errorf("%s is selected", j.ID)
	}
	d.press("end")
	if !strings.Contains(d.screen(), "(10000/10000)") {
		t.Error(d.screen())
	}
}

// TestDelete deletes a job after a yes, and only then.
func TestDelete(t *testing.T) {
	for keys, want := range map[string]string{"x y": "k2m9aaaaa", "x n": "", "x esc": "", "x enter": "", "y": "", "x x y": ""} {
		f := trip()
		d := drive(t, f, 80, 24)
		d.replace(newHistory(d.p))
		d.press("down")
		for _, k := range strings.Fields(keys) {
			d.pass(keyPause)
			d.press(k)
		}
		d.settle()
		if got := strings.Join(f.deleted, " "); got != want {
			t.Errorf("%s: %q is deleted, want %q", keys, got, want)
		}
	}
	f := trip()
	d := drive(t, f, 80, 24)
	d.replace(newHistory(d.p))
	d.press("x")
	d.pass(keyPause)
	f.err = errors.New("job r58p is running; stop it first")
	d.press("y")
	d.settle()
	if !strings.Contains(d.screen(), "job r58p is running; stop it first") {
		t.Error(d.screen())
	}
}

// TestWordsDoNothing types words, and repeats a key, where a single key deletes, rewinds or resumes.
func TestWordsDoNothing(t *testing.T) {
	f := trip()
	s := newStage()
	f.run = s.run
	d := drive(t, f, 80, 24)
	d.replace(newHistory(d.p))
	quickly := func(keys ...string) {
		for _, k := range keys {
			d.press(k)
			d.settle()
			d.pass(keyPause / 2)
		}
		d.pass(keyPause)
	}
	quickly("r", "o", "x", "y")
	d.shows("Delete job")
	quickly("esc", "down", "c", "w", "y")
	d.shows("Rewind to step")
	quickly("esc", "esc", "enter", "enter", "enter")
	d.shows("Enter resumes")
	if len(f.deleted) > 0 || d.p.chat.work != nil || d.p.chat.branch != nil {
		t.Errorf("deleted %q:\n%s", f.deleted, d.screen())
	}
	d.press("enter")
	if got := d.task(s); got.Job == "" {
		t.Errorf("%+v", got)
	}
}

// TestWays goes from screen to screen and back.
func TestWays(t *testing.T) {
	titles := func(d *driver) string {
		var all []string
		for _, s := range d.p.stack {
			all = append(all, s.title())
		}
		return strings.Join(all, " > ")
	}
	for _, c := range []struct{ keys, want string }{
		{"", "History"},
		{"n", "History > Experts"},
		{"n ctrl+o", "History"},
		{"n esc", "History"},
		{"n f esc", "History > Experts"}, // the filter is cleared first
		{"n enter", "lead"},
		{"n end enter", "@acme/old"},
		{"enter", "lead"},
		{"down c", "History > Checkpoints of k2m9"},
		{"down c d", "History > Checkpoints of k2m9 > Diff since step 3"},
		{"down c d esc", "History > Checkpoints of k2m9"},
		{"down c e enter", "History > Checkpoints of k2m9 > Events of step 3 > Record of startGeneration"},
		{"down c e enter esc esc esc esc", "History"},
		{"down c w d", "History > Checkpoints of k2m9 > Diff since step 3"},
		{"down c w n", "History > Checkpoints of k2m9"},
		{"down c w enter", "History > Checkpoints of k2m9"}, // only y rewinds
		{"down c enter", "finder"},
		{"down c w y", "finder"},
		{"/ c", "History"}, // a letter of the filter is no action
		{"/ q 7 enter c", "History > Checkpoints of q77xb"},
		{"f1", "History > help"},
		{"down c d / n esc", "History > Checkpoints of k2m9 > Diff since step 3"},
	} {
		t.Run(c.keys, func(t *testing.T) {
			d := drive(t, trip(), 80, 24)
			d.replace(newHistory(d.p))
			for _, k := range strings.Fields(c.keys) {
				d.pass(keyPause)
				d.press(k)
				d.settle()
			}
			if got := titles(d); got != c.want {
				t.Errorf("%s, want %s:\n%s", got, c.want, d.screen())
			}
		})
	}
}

// TestCopy gives the whole result to the clipboard, or says why not.
func TestCopy(t *testing.T) {
	row := callRow()
	d := drive(t, trip(), 80, 24)
	d.replace(newDetail(d.p, "x", row))
	_, cmd := d.p.Update(keyPress("c"))
	found := false
	for _, msg := range flatten(cmd) {
		found = found || fmt.Sprint(msg) == row.Output
	}
	if !found || !strings.Contains(d.screen(), "sent to the terminal's clipboard") {
		t.Errorf("%t:\n%s", found, d.screen())
	}
	row.Output = strings.Repeat("x", maxCopy+1)
	d.replace(newDetail(d.p, "x", row))
	d.press("c")
	if !strings.Contains(d.screen(), "100001 bytes") {
		t.Error(d.screen())
	}
}

// flatten runs commands and returns their messages.
func flatten(cmd tea.Cmd) (msgs []tea.Msg) {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			msgs = append(msgs, flatten(c)...)
		}
	default:
		msgs = append(msgs, msg)
	}
	return msgs
}
