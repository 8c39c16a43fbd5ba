package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
)

// Secrets are taken out before a text is cut, so that no half of one is left at the edge.
func TestRedactedBeforeCut(t *testing.T) {
	const key = "sk-0123456789abcdef"
	redact := func(text string) string { return strings.ReplaceAll(text, key, "***") }
	clean := func(what, text string) {
		t.Helper()
		if strings.Contains(text, "sk-") || strings.Contains(text, "cdef") {
			t.Errorf("%s: half of a key is left: …%s", what, text[max(0, strings.Index(text, "sk-")-20):])
		}
	}
	step := 1
	if testing.Short() {
		step = 5
	}
	for shift := 0; shift < len(key)+2; shift += step {
		at := func(edge int) string { return strings.Repeat("x", edge-shift) + key + strings.Repeat("x", edge) }
		parts, _ := convert(fmt.Appendf(nil, `{"content":[{"type":"text","text":%q},{"type":"%s"}]}`, at(maxResultText/2), at(lastLineBytes)), redact)
		for _, p := range parts {
			clean("result", p.Text)
		}
		for _, edge := range []int{maxLineBytes, maxLineBytes + edgeBytes, lastLineBytes} {
			var last memory
			readLines(strings.NewReader(strings.Repeat(key, 3)+at(edge)[3*len(key):]), redact, func(line string) {
				last.keep(line)
				clean("line", line)
			})
			clean("last words", last.String())
		}
		clean("long line", longLine(redact, strings.Repeat(key, (maxLineBytes+edgeBytes)/len(key)+10)))
		clean("note", progressNote{Message: fmt.Appendf(nil, "%q", at(maxLineBytes))}.text(redact))
	}
	s, _ := joinScript(t, func(m message, send func(string, ...any)) {
		if m.Method == "tools/call" {
			send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%q}}`, strings.Repeat("x", maxLineBytes-15)+key)
			send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`, m.ID, strings.Repeat("x", maxErrorText/2-5)+key+strings.Repeat("x", maxErrorText))
		}
	}, func(o *Options) {
		o.Redact = redact
		o.Report = func(b event.Body) {
			if line, ok := b.(event.SkillStderr); ok {
				clean("log", line.Message)
			}
		}
	})
	text, isError, err := work(t.Context(), s)
	clean("error", text)
	if !isError || err != nil || !strings.Contains(text, "***") {
		t.Errorf("%t, %v", isError, err)
	}
}

func longLine(redact func(string) string, text string) (line string) {
	readLines(strings.NewReader(text), redact, func(l string) { line = l })
	return line
}
