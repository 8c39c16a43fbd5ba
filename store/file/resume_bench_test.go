package file

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store/storetest"
)

// longJob writes 10,000 events that bring 50 MB of conversation, most of it as results
// of tools, and returns the bytes of the texts.
func longJob(b *testing.B, s *Store) (content int) {
	b.Helper()
	j := mustOpen(b, s)
	line := "A line as people write it, with \"quotes\", a tab\tand caf\u00e9s.\n"
	text := strings.Repeat(line, 25_000/len(line)+1)[:25_000]
	sample := storetest.Sample("job1")
	mustAppend(b, j, sample[:2]...)
	step := sample[2:9] // startGeneration, callTools, ..., continueToNextStep
	for n := len(sample[:2]); n < 10_000; n++ {
		e := step[n%len(step)]
		e.ID, e.StepNumber = fmt.Sprintf("e%d", n), n/len(step)+1
		if end, ok := e.Body.(event.EndToolCall); ok {
			end.ToolResult.Result = []event.Part{{ID: fmt.Sprintf("p%d", n), Type: event.TextPart, Text: text + text[:10_000]}}
			content += len(text) + 10_000
			e.Body = end
		}
		mustAppend(b, j, e)
	}
	mustClose(b, j)
	return content
}

// What it costs to read a long job when it is resumed: the reader keeps the events and
// lets go of the lines. The figures are bytes for each byte of conversation.
func BenchmarkResume(b *testing.B) {
	s := New(filepath.Join(fastDir(b), "perstack"), nil)
	content := longJob(b, s)
	memory := func() (m runtime.MemStats) {
		runtime.ReadMemStats(&m)
		return m
	}
	runtime.GC()
	before := memory()
	var peak, retained, allocated uint64
	for b.Loop() {
		start := memory().TotalAlloc
		var kept []event.Event
		for r, err := range s.Read(b.Context(), "job1", 0) {
			if err != nil {
				b.Fatal(err)
			}
			kept = append(kept, r.Event)
			if r.Seq%500 == 0 {
				peak = max(peak, memory().HeapAlloc)
			}
		}
		allocated = memory().TotalAlloc - start
		runtime.GC()
		retained = memory().HeapAlloc - before.HeapAlloc
		if len(kept) != 10_000 {
			b.Fatalf("%d events", len(kept))
		}
		runtime.KeepAlive(kept)
	}
	b.ReportMetric(float64(content)/1e6, "MB")
	b.ReportMetric(float64(allocated)/float64(content), "allocated/B")
	b.ReportMetric(float64(retained)/float64(content), "retained/B")
	b.ReportMetric(float64(peak-before.HeapAlloc)/float64(content), "peak/B")
}
