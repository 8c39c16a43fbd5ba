package responses_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

const search = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"rain"}}`

// The exact bytes of streams, as the real service sends them.
func TestStreams(t *testing.T) {
	for name, script := range map[string]string{
		"text":     "[[turn]]\ntext = \"Hello, dear \\\"world\\\".\\nBye 👋\"\nusage = { input = 12, output = 7, cached = 3, cacheWrite = 4 }",
		"thinking": "[[turn]]\nreasoning = \"Let me think.\\n\\nTwice.\"\nredacted = \"c2VjcmV0\"\ntext = \"Yes.\"\nusage = { output = 9, reasoning = 5 }",
		"unsigned": "[[turn]]\nreasoning = \"Hm.\"\nsignature = \"\"\ntext = \"Yes.\"",
		"calls": "[[turn]]\ntext = \"Both.\"\n[[turn.call]]\ntool = \"readTextFile\"\nargs = { path = \"é/notes.txt\", from = 0 }\n" +
			"[[turn.call]]\ntool = \"think\"\nreasoning = \"One more.\"",
		"broken-calls": "[[turn]]\n[[turn.call]]\nid = \"same\"\ntool = \"noSuchTool\"\nargsText = '{\"path\": \"a'\n" +
			"[[turn.call]]\nid = \"same\"\ntool = \"noSuchTool\"\nargsText = ''",
		"hosted":       "[[turn]]\nhosted = ['" + search + "']\ntext = \"It rains.\"",
		"refusal":      "[[turn]]\ntext = \"I will not.\"\nstop = \"refusal\"",
		"withheld":     "[[turn]]\ntext = \"a\"\nstop = \"content_filter\"",
		"length":       "[[turn]]\ntext = \"a\"\nlength = true",
		"no-reason":    "[[turn]]\ntext = \"a\"\nstop = \"\"",
		"nothing":      "[[turn]]\ntext = \"\"",
		"error-inside": "[[turn]]\ntext = \"one two three\"\nerrorAfter = 5",
		"error-kind":   "[[turn]]\ntext = \"a\"\nerrorAfter = 0\n[turn.error]\nkind = \"rateLimit\"",
		"error-own":    "[[turn]]\ntext = \"a\"\nerrorAfter = 1\n[turn.error]\ntype = \"insufficient_quota\"\nmessage = \"pay\"",
		"end-early":    "[[turn]]\ntext = \"one two three\"\nendAfter = 4",
	} {
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
	}
}

func TestErrors(t *testing.T) {
	for status, want := range map[int]string{
		400: `"type":"invalid_request_error","param":null,"code":null`,
		401: `"code":"invalid_api_key"`,
		404: `"code":"model_not_found"`,
		409: `"type":"invalid_request_error"`,
		429: `"type":"tokens","param":null,"code":"rate_limit_exceeded"`,
		500: `"type":"server_error"`,
		502: `"type":"server_error"`,
	} {
		a := play(t, "[[turn]]\n[turn.error]\nmessage = \"sorry\"\nstatus = "+strconv.Itoa(status))
		if a.status != status || !strings.HasPrefix(a.body, `{"error":{"message":"sorry",`) || !strings.Contains(a.body, want) || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%d: %+v", status, a)
		}
	}
}
