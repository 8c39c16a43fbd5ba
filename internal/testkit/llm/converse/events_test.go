package converse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// The frames of streams, as the real service sends them.
func TestStreams(t *testing.T) {
	for name, script := range map[string]string{
		"text":         "[[turn]]\ntext = \"Hello, dear \\\"world\\\".\\nBye 👋\"\nusage = { input = 12, output = 7, cached = 3, cacheWrite = 4 }",
		"thinking":     "[[turn]]\nreasoning = \"Let me think.\"\nredacted = \"c2VjcmV0\"\ntext = \"Yes.\"",
		"calls":        "[[turn]]\ntext = \"Both.\"\n[[turn.call]]\ntool = \"readTextFile\"\nargs = { path = \"é/notes.txt\" }\n[[turn.call]]\nid = \"b\"\ntool = \"think\"\nreasoning = \"Hm.\"",
		"broken-calls": "[[turn]]\n[[turn.call]]\nid = \"same\"\ntool = \"t\"\nargsText = '{\"path\": \"a'\n[[turn.call]]\nid = \"same\"\ntool = \"t\"\nargsText = ''",
		"length":       "[[turn]]\ntext = \"a\"\nlength = true",
		"stop":         "[[turn]]\ntext = \"a\"\nstop = \"guardrail_intervened\"",
		"no-stop":      "[[turn]]\ntext = \"a\"\nstop = \"\"",
		"nothing":      "[[turn]]\ntext = \"\"",
		"error-inside": "[[turn]]\ntext = \"one two\"\nerrorAfter = 2",
		"error-kind":   "[[turn]]\ntext = \"a\"\nerrorAfter = 0\n[turn.error]\nkind = \"rateLimit\"\nmessage = \"slow\"",
		"end-early":    "[[turn]]\ntext = \"a\"\nendAfter = -1",
		"deep":         "[[turn]]\nraw = \"deep\"\ndepth = 3",
	} {
		t.Run(name, func(t *testing.T) {
			a := play(t, script)
			if a.err != nil || a.status != 200 || a.header.Get("Content-Type") != "application/vnd.amazon.eventstream" {
				t.Fatal(a)
			}
			testkit.Golden(t, name+".txt", strings.Join(frames(t, a.body), "\n")+"\n")
		})
	}
}

// A frame that is too large is a right one all the same: its checksum is that of the whole.
func TestHugeFrame(t *testing.T) {
	lines := frames(t, play(t, "[[turn]]\nraw = \"hugeLine\"\nmib = 2").body)
	if len(lines) != 5 || len(lines[1]) < 2<<20 || !strings.HasSuffix(lines[1], `aaa"},"p":"abc"}`) {
		t.Errorf("%d frames, of which the second has %d bytes", len(lines), len(lines[1]))
	}
}

// A stream can be cut after any frame, and inside any.
func TestCutEverywhere(t *testing.T) {
	whole := frames(t, play(t, "[[turn]]\ntext = \"a b\"").body)
	for i := range len(whole) + 1 {
		a := play(t, fmt.Sprintf("[[turn]]\ntext = \"a b\"\ncutAfter = %d", i))
		if got := frames(t, a.body); a.err == nil || len(got) != i {
			t.Errorf("cut after %d: %v, %d frames", i, a.err, len(got))
		}
		if i == len(whole) {
			break
		}
		before := len(a.body)
		if a = play(t, fmt.Sprintf("[[turn]]\ntext = \"a b\"\ncutAfter = %d\ncutInside = true", i)); a.err == nil || len(a.body) <= before {
			t.Errorf("cut inside %d: %v, %d bytes", i, a.err, len(a.body))
		}
	}
}
