package lines

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/columns"
)

// making is the life of an image of which a tenth takes 400 ms.
func making() []event.Event {
	of := func(at int64, stage, message string, progress *float64) event.Event {
		return event.Event{JobID: "job1", Timestamp: at, Body: event.DockerBuildProgress{Stage: stage, Service: "image", Message: message, Progress: progress}}
	}
	return []event.Event{
		of(0, "building", "sending the image: 0.0 of 9.0 MB", new(0.0)),
		of(400, "building", "sending the image: 0.9 of 9.0 MB", new(0.1)),
		of(2000, "building", "sending the image: 4.5 of 9.0 MB", new(0.5)),
		of(2400, "building", "sending the image: 5.4 of 9.0 MB", new(0.6)),
		of(4000, "complete", "made the image x:1", nil),
		{JobID: "job1", RunID: "r1", Body: event.InitializeRuntime{ExpertName: "lead", Model: "m"}},
	}
}

func TestImage(t *testing.T) {
	const dimmed, end = "\x1b[2m", "\x1b[0m"
	for name, tt := range map[string]struct {
		opts Options
		want []string
	}{
		"lines": {Options{}, []string{
			"… image: sending the image: 0.0 of 9.0 MB\n", "", "… image: sending the image: 4.5 of 9.0 MB\n", "", "… image: made the image x:1\n",
			"● Start lead, m, job job1\n",
		}},
		"without colours": {Options{Width: 80}, []string{
			"… image: sending the image: 0.0 of 9.0 MB\n", "", "… image: sending the image: 4.5 of 9.0 MB\n", "", "… image: made the image x:1\n",
			"● Start lead, m, job job1\n",
		}},
		"a terminal": {Options{Color: true, Width: 80}, []string{
			dimmed + "… image [░░░░░░░░░░░░░░░░░░░░]   0% sending the image: 0.0 of 9.0 MB" + end,
			eraseLine + dimmed + "… image [██░░░░░░░░░░░░░░░░░░]  10% sending the image: 0.9 of 9.0 MB" + end,
			eraseLine + dimmed + "… image [██████████░░░░░░░░░░]  50% sending the image: 4.5 of 9.0 MB" + end,
			eraseLine + dimmed + "… image [████████████░░░░░░░░]  60% sending the image: 5.4 of 9.0 MB" + end,
			eraseLine + dimmed + "… image: made the image x:1" + end + "\n",
			"\x1b[36m●\x1b[0m \x1b[1mStart\x1b[0m \x1b[2mlead, m, job job1\x1b[0m\n",
		}},
		"verbose": {Options{Verbose: true}, []string{
			"● Image image building\n  └ sending the image: 0.0 of 9.0 MB\n", "● Image image building\n  └ sending the image: 0.9 of 9.0 MB\n",
			"● Image image building\n  └ sending the image: 4.5 of 9.0 MB\n", "● Image image building\n  └ sending the image: 5.4 of 9.0 MB\n",
			"● Image image complete\n  └ made the image x:1\n", "● Start lead, m, job job1\n",
		}},
	} {
		if diff := cmp.Diff(tt.want, emit(t, tt.opts, making()...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An image that is there already is not worth a line; one that cannot be made is, also
// when a bar stands where the line begins.
func TestImageThereOrFailed(t *testing.T) {
	there := event.Event{Body: event.DockerBuildProgress{Stage: "complete", Service: "image", Message: "it is there already"}}
	failed := event.Event{Body: event.DockerBuildProgress{Stage: "error", Service: "image", Message: "the disk is full"}}
	terminal := Options{Color: true, Width: 80}
	if got := emit(t, terminal, there); got[0] != "" {
		t.Errorf("%q", got)
	}
	got := emit(t, terminal, making()[0], failed, making()[5])
	if !strings.HasPrefix(got[1], eraseLine) || !strings.Contains(got[1], "the disk is full\n") || strings.Contains(got[2], eraseLine) {
		t.Errorf("%q", got)
	}
	if got := emit(t, Options{}, failed); got[0] != "● Image image error\n  └ the disk is full\n" {
		t.Errorf("%q", got)
	}
}

// The bar stays in its line and draws nothing but itself, whatever the engine says.
func TestBarIsSafe(t *testing.T) {
	for _, part := range []float64{-1, 0, 0.999, 1, 5, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)} {
		var out bytes.Buffer
		p := New(&out, Options{Color: true, Width: 40})
		for range 2 {
			if err := p.Emit(event.Event{Body: event.DockerBuildProgress{Stage: hostile, Service: hostile, Message: hostile + strings.Repeat("x", 500), Progress: &part}}); err != nil {
				t.Fatal(err)
			}
		}
		text := strings.NewReplacer(eraseLine, "\n", string(dim), "", reset, "").Replace(out.String())
		for l := range strings.SplitSeq(text, "\n") {
			if columns.Of(l) > 39 || strings.ContainsAny(l, "\x1b\r\u202e\u009b") || strings.Count(l, "█")+strings.Count(l, "░") != barColumns {
				t.Errorf("%v: %q has %d columns", part, l, columns.Of(l))
			}
		}
	}
}
