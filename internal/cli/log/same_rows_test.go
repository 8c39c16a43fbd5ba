package log

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/testkit/stories"
	"github.com/perstack-go/perstack/store/memory"
)

// record writes events to a journal.
func record(t *rapid.T, events []event.Event) *memory.Store {
	s := memory.New()
	journal, err := s.Open(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if _, err := journal.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// notes matches the lines of a transcript that are no rows: names of delegates, Runs and checkpoints.
var notes = regexp.MustCompile(`^ *(\[.*\] )?── |^ *\[.*\]$`)

// rowLines returns the lines of rows, without those that are blank.
func rowLines(text string) (all []string) {
	for l := range strings.Lines(text) {
		if l = strings.TrimSuffix(l, "\n"); strings.TrimSpace(l) != "" && !notes.MatchString(l) {
			all = append(all, l)
		}
	}
	return all
}

// log shows the rows of run: each is drawn as run would draw it alone, in the same order. That holds
// for the rows above the live region too, but for those that other lines of that view replace.
func TestSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := stories.Draw(t)
		s := record(t, events)
		opts := &Options{Job: "job", Host: &host.Host{Width: 70}, Verbose: rapid.Bool().Draw(t, "verbose")}
		run := lines.Options{Width: 70, Verbose: opts.Verbose}
		wide := opts.lineOptions()
		progress, live := lines.New(io.Discard, run), lines.New(io.Discard, lines.Options{Width: 70, Verbose: opts.Verbose, Live: true})

		var want []string
		var story narrate.Narrator
		for r, err := range s.Read(t.Context(), "job", 0) {
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range narrate.Rows(story.Apply(r.Event)) {
				if live.Shows(row) && !progress.Shows(row) || progress.Shows(row) && !live.Shows(row) && !replaced(row) {
					t.Fatalf("on a terminal, run shows other rows: %+v", row)
				}
				if !progress.Shows(row) {
					continue
				}
				var alone bytes.Buffer
				if err := lines.New(&alone, wide).Print([]narrate.Row{row}); err != nil {
					t.Fatal(err)
				}
				want = append(want, rowLines(alone.String())...)
			}
		}
		v, err := look(t.Context(), opts, s, "job")
		if err != nil {
			t.Fatal(err)
		}
		var shown bytes.Buffer
		out := bufio.NewWriter(&shown)
		if err := v.reread(t.Context(), v.newTranscript(out).add); err != nil {
			t.Fatal(err)
		}
		out.Flush()
		if diff := cmp.Diff(want, rowLines(shown.String())); diff != "" {
			t.Fatalf("rows (-run +log):\n%s", diff)
		}
	})
}

// replaced reports whether the live view of run says in another way what a row says: in its first
// line, by what the user typed, or by the answer that follows.
func replaced(r narrate.Row) bool {
	switch r.Kind {
	case narrate.Start, narrate.Returned:
		return r.State == narrate.Done
	case narrate.Query:
		return r.Depth == 0
	case narrate.Tool:
		return r.Label == narrate.CompletionLabel && r.State == narrate.Done
	}
	return false
}

// No event puts a control character on the screen, or a line that looks like a row.
func TestNoEventActsOnTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := stories.Draw(t)
		s := record(t, events)
		args := rapid.SampledFrom([]string{
			"job", "job --verbose", "job --events", "job --events --verbose --summary", "job --tree", "job --tools --context 1", "job --json", "job --records", "job --tree --json", "", "--json",
		}).Draw(t, "args")
		var out, errOut bytes.Buffer
		h := &host.Host{Stdout: &out, Stderr: &errOut, StdoutIsTerminal: true, Width: rapid.SampledFrom([]int{0, 20, 80}).Draw(t, "width"),
			Environ: []string{"NO_COLOR=1"}, Command: "perstack", Dir: "/", Home: "/nowhere", Source: engine.FixedSource(noon)}
		cmd := New(h, func(ctx context.Context, opts *Options) error {
			opts.Store = s
			return show(ctx, opts, s)
		})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{}, strings.Fields(args)...))
		err := cmd.ExecuteContext(t.Context())
		checkScreen(t, "log "+args, out.String()+errOut.String()+host.Describe(err))

		var live bytes.Buffer
		for _, opts := range []lines.Options{{Width: 40}, {Width: 40, Verbose: true, Markdown: true, Texts: true}, {Record: true, Whole: true}, {Live: true, Width: 40, Markdown: true}} {
			p := lines.New(&live, opts)
			for _, e := range events {
				if err := p.Emit(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		checkScreen(t, "run", live.String())
	})
}

func checkScreen(t *rapid.T, what, text string) {
	for l := range strings.Lines(text) {
		if i := strings.IndexFunc(strings.TrimSuffix(l, "\n"), acts); i >= 0 {
			t.Fatalf("%s: %q reaches the screen", what, l)
		}
		if strings.HasPrefix(l, "● forged") {
			t.Fatalf("%s: a forged row: %q", what, l)
		}
	}
}

// acts reports whether a terminal does more with r than showing it. A tab is a blank.
func acts(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || slices.Contains([]rune("\u2028\u2029\ufeff"), r)
}
