package tui

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/testkit/stories"
)

// The transcript has the rows that run and log show, and of each row the last state. It also has
// what is not finished, which the others show in other lines.
func TestSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shown := newTranscript(newProgram(t.Context(), Options{Project: &fakeProject{}}), "lead")
		printed := lines.New(io.Discard, lines.Options{})
		var story narrate.Narrator
		want := make(map[string]string)
		for _, e := range stories.Draw(t) {
			shown.apply(e)
			for _, r := range narrate.Rows(story.Apply(e)) {
				switch id := rowID(r); {
				case isPermission(r): // the answer takes its place in the transcript
				case printed.Shows(r):
					want[id] = told(r)
				case r.Kind != narrate.Delegate && !r.Repeats && !r.Minor && r.Kind != narrate.Network:
					delete(want, id) // it began once more
				}
			}
		}
		got := make(map[string]string)
		for _, r := range shown.rows {
			if r.Kind == narrate.Delegate || printed.Shows(r) && !isPermission(r) {
				got[rowID(r)] = told(r)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("rows (-log +start):\n%s", diff)
		}
	})
}

// rowID is the name of a row. All steps of an image have one row.
func rowID(r narrate.Row) string {
	if r.Kind == narrate.Image {
		return "image-" + r.Run
	}
	return r.ID
}

// told is what a row says. What a delegate returned is told by its own Run.
func told(r narrate.Row) string {
	if r.Kind == narrate.Delegate {
		return fmt.Sprintf("%s %q %q", r.Kind, r.Label, r.Summary)
	}
	return fmt.Sprintf("%s %q %q %q %v %v", r.Kind, r.Label, r.Summary, r.Argv, r.State, r.Body)
}

// No event puts a control character on the screen.
func TestNoEventActsOnTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newProgram(t.Context(), Options{Project: &fakeProject{}})
		shown := newTranscript(p, stories.Hostile)
		for _, e := range stories.Draw(t) {
			shown.apply(e)
			for r := range maps.Values(shown.rows) {
				drawn := row{p, shown.expert, r}
				text := drawn.Text()
				for _, l := range drawn.Render(rapid.SampledFrom([]int{10, 40, 120}).Draw(t, "width")) {
					text += l.Text()
				}
				for _, line := range newDetail(p, "job", r).render(40, 20).lines {
					text += line.Text()
				}
				if i := strings.IndexFunc(text, func(r rune) bool {
					return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || strings.ContainsRune("\u2028\u2029\ufeff", r)
				}); i >= 0 {
					t.Fatalf("%q of %+v", text[max(i-20, 0):], r)
				}
			}
		}
	})
}
