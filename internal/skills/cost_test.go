package skills

import (
	"runtime"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/skill"
)

// A thousand Experts may be at work at once, each with a box of its own: B/op is what it
// takes to open one with the base skill alone, kept-B/op what it holds while it is open.
func BenchmarkOpen(b *testing.B) {
	files, err := workspace.Open(b.TempDir(), workspace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer files.Close()
	site := &Site{Parts: testParts(), Workspace: files, Commands: sandbox.NewSupervisor()}
	defer site.Commands.Close()
	e := &expert.Expert{Key: "x", Name: "x"}
	boxes := make([]*skill.Toolbox, 0, 10_000)
	before := held()
	b.ReportAllocs()
	for b.Loop() {
		box, err := site.Open(b.Context(), engine.SkillRequest{Expert: e})
		if err != nil {
			b.Fatal(err)
		}
		if len(boxes) < cap(boxes) {
			boxes = append(boxes, box)
		}
	}
	b.ReportMetric((held()-before)/float64(len(boxes)), "kept-B/op")
	for _, box := range boxes {
		if err := box.Close(); err != nil {
			b.Error(err)
		}
	}
}

func held() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
