package messages_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// The exact bytes of streams, as the real service sends them.
func TestStreams(t *testing.T) {
	tests := map[string]string{
		"text":     "[[turn]]\ntext = \"Hello, dear \\\"world\\\".\\nBye 👋\"\nusage = { input = 12, output = 7, cached = 3, cacheWrite = 4 }",
		"thinking": "[[turn]]\nreasoning = \"Let me think.\"\nredacted = \"c2VjcmV0\"\ntext = \"Yes.\"\nusage = { output = 9, reasoning = 5 }",
		"signature": "[[turn]]\nreasoning = \"Hm.\"\nsignature = \"mine\"\ntext = \"Yes.\"\n" +
			"stop = \"max_tokens\"",
		"unsigned": "[[turn]]\nreasoning = \"Hm.\"\nsignature = \"\"",
		"calls": "[[turn]]\ntext = \"Both.\"\n[[turn.call]]\ntool = \"readTextFile\"\nargs = { path = \"é/notes.txt\", from = 0 }\n" +
			"[[turn.call]]\ntool = \"think\"",
		"broken-calls": "[[turn]]\n[[turn.call]]\nid = \"same\"\ntool = \"noSuchTool\"\nargsText = '{\"path\": \"a'\n" +
			"[[turn.call]]\nid = \"same\"\ntool = \"noSuchTool\"\nargsText = ''",
		"thoughts-between": "[[turn]]\ntext = \"First.\"\n[[turn.call]]\ntool = \"t\"\nreasoning = \"One more.\"",
		"hosted":           "[[turn]]\nhosted = ['''" + search + "''', '''" + found + "''']\ntext = \"It rains.\"",
		"paused":           "[[turn]]\nhosted = ['''" + search + "''']\nstop = \"pause_turn\"",
		"length":           "[[turn]]\ntext = \"a\"\nlength = true",
		"error-kind":       "[[turn]]\ntext = \"a\"\nerrorAfter = 0\n[turn.error]\nkind = \"rateLimit\"",
		"nothing":          "[[turn]]\ntext = \"\"",
		"no-stop-reason":   "[[turn]]\ntext = \"a\"\nstop = \"\"",
		"error-inside":     "[[turn]]\ntext = \"one two three\"\nerrorAfter = 5",
		"error-first":      "[[turn]]\ntext = \"\"\nerrorAfter = 0\n[turn.error]\ntype = \"api_error\"\nmessage = \"Internal \\\"server\\\" error\"",
		"end-early":        "[[turn]]\ntext = \"one two three\"\nendAfter = 4",
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			a := play(t, script)
			if a.err != nil || a.status != 200 || a.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
				t.Fatal(a)
			}
			testkit.Golden(t, name+".sse", a.body)
		})
	}
}

// A stream can be cut after any event, and inside any.
func TestCutEverywhere(t *testing.T) {
	const script = "[[turn]]\nreasoning = \"a b\"\ntext = \"c d\"\n[[turn.call]]\ntool = \"t\"\n"
	whole := play(t, script).body
	events := strings.SplitAfter(whole, "\n\n")
	events = events[:len(events)-1]
	for i := range len(events) + 1 {
		cut := strings.Replace(script, "[[turn]]\n", "[[turn]]\ncutAfter = "+strconv.Itoa(i)+"\n", 1)
		a := play(t, cut)
		if want := strings.Join(events[:i], ""); a.err == nil || a.body != want || a.status != 200 {
			t.Errorf("cut after %d: %v, %q", i, a.err, a.body)
		}
		if i == len(events) {
			break
		}
		a = play(t, strings.Replace(cut, "\n", "\ncutInside = true\n", 1))
		if want := strings.Join(events[:i], "") + events[i][:len(events[i])/2]; a.err == nil || a.body != want {
			t.Errorf("cut inside %d: %v, %q", i, a.err, a.body)
		}
	}
}
