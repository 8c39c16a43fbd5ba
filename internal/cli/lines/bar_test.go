package lines

import (
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

// An image that is there already is not worth a line; one that cannot be made is.
func TestImageThereOrFailed(t *testing.T) {
	there := event.Event{Body: event.DockerBuildProgress{Stage: "complete", Service: "image", Message: "it is there already"}}
	failed := event.Event{Body: event.DockerBuildProgress{Stage: "error", Service: "image", Message: "the disk is full"}}
	for _, opts := range []Options{{}, {Live: true}} {
		if got := emit(t, opts, there); got[0] != "" {
			t.Errorf("%q", got)
		}
		if got := emit(t, opts, failed); got[0] != "● Image image error\n  └ the disk is full\n" {
			t.Errorf("%q", got)
		}
	}
}

// Above a region, the bar of which shows the progress, only the end is worth a line.
func TestImageAboveRegion(t *testing.T) {
	want := []string{"", "", "", "", "… image: made the image x:1\n", ""}
	if diff := cmp.Diff(want, emit(t, Options{Live: true}, making()...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The bar stays in its line and draws nothing but itself, whatever the engine says.
func TestBarIsSafe(t *testing.T) {
	for _, part := range []float64{-1, 0, 0.999, 1, 5, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)} {
		live, tty := newLive(t, 40, 12, LiveOptions{})
		if err := live.Emit(event.Event{Body: event.DockerBuildProgress{Stage: hostile, Service: hostile, Message: hostile + strings.Repeat("x", 500), Progress: &part}}); err != nil {
			t.Fatal(err)
		}
		if err := live.Emit(event.Event{Body: event.ToolProgress{}}); err != nil {
			t.Fatal(err)
		}
		live.Pause()
		live.Resume()
		lines := tty.lines()
		if len(lines) != 2 || columns.Of(lines[0]) > 39 || strings.Count(lines[0], "#")+strings.Count(lines[0], "-") != barColumns {
			t.Errorf("%v: %q", part, lines)
		}
	}
}
