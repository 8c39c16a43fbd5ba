package log

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/store/memory"
)

// On a terminal the transcript has colours, wraps texts and lays out Markdown.
func TestTranscriptOnATerminal(t *testing.T) {
	s := memory.New()
	st := begin(t, s, "notejob", "run1", "writer", noon)
	st.start("Which files did you use? Answer with a list, please, and keep it short.", "cp1", nil)
	st.tell(event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "## Files\n\n- `notes.txt`, which has **all** of the dates that you asked me about\n- nothing else")})
	st.end()
	testkit.Golden(t, "transcript_colour.golden", wideLog(t, s, 60, "notejob"))
	plain, _, _ := terminalLog(t, s, "notejob") // with NO_COLOR
	if strings.Contains(plain, "\x1b") || !strings.Contains(plain, "● Result") {
		t.Errorf("without colours:\n%q", plain)
	}
}

// What the transcript shows of the id of a checkpoint names that checkpoint.
func TestShortIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringMatching(`[ab]{1,12}`), rapid.ID).Draw(t, "ids")
		v := &survey{checkpoints: slices.Sorted(slices.Values(ids))}
		for _, id := range ids {
			short := v.short(id)
			if got, err := history.Match(history.CheckpointID, short, slices.Values(ids)); err != nil || got != id {
				t.Fatalf("%q, short for %q, names %q: %v", short, id, got, err)
			}
			if len(short) > leastShort && !slices.ContainsFunc(ids, func(other string) bool { return other != id && strings.HasPrefix(other, short[:len(short)-1]) }) {
				t.Fatalf("%q is longer than needed for %q", short, id)
			}
		}
	})
}
