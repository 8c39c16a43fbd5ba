package modeltest

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// maxGrowth is by how much the heap may grow while an answer is hostile: an answer of the
// largest size that is read, 64 MiB, once as it came and once as words, and what the
// collector has not come to yet. The server is in the same heap.
const maxGrowth = 192 << 20

func hostileCases() []Case {
	var all []Case
	for _, h := range []struct{ name, turn, want string }{
		{"garbage", "raw = \"garbage\"\n", ""},
		{"a page", "raw = \"html\"\n", "text/html"},
		{"a page with a status", "raw = \"html\"\n[turn.error]\nstatus = 502\n", "502 Bad Gateway: no reason given"},
		{"nothing", "raw = \"emptyBody\"\n", ""},
		{"nothing with a status", "raw = \"emptyBody\"\n[turn.error]\nstatus = 500\n", "500 Internal Server Error: no reason given"},
		{"the wrong type", "raw = \"wrongType\"\ntext = \"Hello.\"\n", "application/json"},
		{"no end", "raw = \"endless\"\n", "bytes"},
		{"no end of nothing", "raw = \"endlessPing\"\n", "bytes"},
		{"a huge event", "raw = \"hugeLine\"\n", "bytes"},
		{"a deep event", "raw = \"deep\"\n", "deep"},
		{"a packed answer", "raw = \"gzip\"\ntext = \"Hello.\"\n", "gzip"},
		{"a packed bomb", "raw = \"gzipBomb\"\n", "gzip"},
	} {
		all = append(all, Case{Name: "hostile: " + h.name, Skip: quick(h.turn), Check: func(t *testing.T, s *Subject) { checkHostile(t, s, "[[turn]]\n"+h.turn, h.want) }})
	}
	return append(all,
		Case{Name: "hostile: deep arguments", Check: checkDeepArguments},
		Case{Name: "hostile: a head without end", Check: checkEndlessError})
}

// quick leaves floods out where each byte is looked at twice.
func quick(turn string) func(Traits) string {
	if strings.Contains(turn, "endless") {
		return heavy
	}
	return nil
}

// heavy is the Skip of a case that is about very many bytes.
func heavy(Traits) string {
	switch {
	case races:
		return "with the race detector a flood takes minutes; it comes without"
	case testing.Short():
		return "a flood takes seconds; it comes without -short"
	}
	return ""
}

// checkHostile: whatever comes, it ends in an error that says what is wrong, and takes no
// more memory than an answer may.
func checkHostile(t *testing.T, s *Subject, script, want string) {
	t.Helper()
	parsed, err := llm.Parse(t.Name(), []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := llm.Start(t, parsed, llm.Forgetting())
	m := s.Open(t, Place{Root: server.Root()})
	var failure error
	grown := growth(func() {
		for _, err := range m.Generate(t.Context(), hello()) {
			failure = err // the pieces are dropped, as a terminal does
		}
	})
	e := AsFailure(t, failure)
	if !strings.Contains(e.Message, s.Provider) || !strings.Contains(e.Message, want) {
		t.Errorf("%q; want the provider's name and %q", e.Message, want)
	}
	if len(e.Message) > 10_000 {
		t.Errorf("the message has %d bytes", len(e.Message))
	}
	if grown > maxGrowth {
		t.Errorf("the heap grew by %d MiB, more than %d", grown>>20, maxGrowth>>20)
	}
}

// growth is by how much the heap grew at most while something ran, as far as one sees
// who looks now and then. The collector is kept busy, so that what is seen is in use.
func growth(run func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	runtime.GC()
	before := heap()
	var done atomic.Bool
	most := make(chan uint64)
	go func() {
		var peak uint64
		pause := time.NewTicker(time.Millisecond)
		defer pause.Stop()
		for !done.Load() {
			peak = max(peak, heap())
			<-pause.C
		}
		most <- peak
	}()
	run()
	now := heap()
	done.Store(true)
	return max(<-most, now, before) - before
}

// heap is what objects take, those included that the collector has not come to.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// checkDeepArguments: arguments nested without end are the model's mistake, and go to the
// engine as they are, or are refused with the answer. No stack overflows.
func checkDeepArguments(t *testing.T, s *Subject) {
	_, root := Serve(t, "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\ndepth = 100000\n")
	req := hello()
	req.Tools = tools
	_, answer, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), req)
	if err != nil {
		_ = AsFailure(t, err) // which looks at it
		return
	}
	if calls := answer.Calls(); len(calls) != 1 || len(calls[0].Args) < 100_000 {
		t.Errorf("%d calls, with %d bytes", len(calls), len(calls[0].Args))
	}
}

// checkEndlessError: a message of a megabyte is not printed.
func checkEndlessError(t *testing.T, s *Subject) {
	_, root := Serve(t, fmt.Sprintf("[[turn]]\n[turn.error]\nstatus = 400\nmessage = %q\n", strings.Repeat("no ", 200_000)))
	_, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), hello())
	if e := AsFailure(t, err); e.StatusCode != http.StatusBadRequest || len(e.Message) > 10_000 {
		t.Errorf("%d, a message of %d bytes", e.StatusCode, len(e.Message))
	}
}
