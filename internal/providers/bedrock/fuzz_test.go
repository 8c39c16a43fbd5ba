package bedrock_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
)

// canned is a model that gets a body for an answer.
func canned(f *testing.F, body *string) *bedrock.Model {
	cfg := config("https://example.com")
	cfg.Client.MaxEvent, cfg.Client.MaxStream = 10_000, 100_000
	cfg.Client.HTTP = wiretest.Client(streamType, body, false)
	m, err := bedrock.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	return m
}

// check holds what is true of any answer, whatever its bytes are.
func check(t *testing.T, m *bedrock.Model, size int) {
	answer, _, err := ask(t.Context(), m, hello())
	if (answer == nil) == (err == nil) {
		t.Errorf("answer %v, error %v", answer, err)
	}
	if answer != nil && len(answer.Text()) > 4*size {
		t.Error("more came out than went in")
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(strings.Join(plain, ""))
	f.Add(begin + exception("throttlingException", `{"message":"x"}`))
	f.Add(prelude(0xffffffff, 0xffffffff))
	f.Add(prelude(20, 10) + textOne)
	f.Add(resum(prelude(20, 4) + "\x01a\x63x"))
	f.Add(textOne[:20])
	var body string
	m := canned(f, &body)
	f.Fuzz(func(t *testing.T, frames string) {
		body = frames
		check(t, m, len(frames))
	})
}

// Here the frames are right, so that what they hold is reached.
func FuzzTurn(f *testing.F) {
	f.Add("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"}}`, "contentBlockStop", `{"contentBlockIndex":0}`)
	f.Add("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"AA=="}}}`, "contentBlockDelta", `{"delta":{"reasoningContent":{"text":"a","signature":"b"}}}`)
	f.Add("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"b"}}}`, "contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{"}}}`)
	f.Add("messageStop", `{"stopReason":"tool_use"}`, "metadata", `{"usage":{"inputTokens":1}}`)
	var body string
	m := canned(f, &body)
	f.Fuzz(func(t *testing.T, kind, payload, kind2, payload2 string) {
		if len(kind) > 1000 || len(kind2) > 1000 {
			t.Skip("no header is that long")
		}
		body = ev(kind, payload) + ev(kind2, payload2) + end + counts
		check(t, m, len(body))
	})
}
