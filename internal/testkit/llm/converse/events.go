package converse

import (
	"fmt"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// A talk is an answer in the making, event by event, as the service emits it.
type talk struct {
	events [][]byte
	blocks int
}

// padding is a member that the service puts beside others, so that words cannot be told
// by their length.
const padding = `"p":"abcdefghij"`

func (k *talk) event(kind, members string) {
	k.events = append(k.events, Event(kind, "{"+members+","+padding+"}"))
}

func (k *talk) delta(delta string) {
	k.event("contentBlockDelta", fmt.Sprintf(`"contentBlockIndex":%d,"delta":%s`, k.blocks, delta))
}

func (k *talk) close() {
	k.event("contentBlockStop", fmt.Sprintf(`"contentBlockIndex":%d`, k.blocks))
	k.blocks++
}

// thought adds a thought. Like a text, it has no event of its own for its start.
func (k *talk) thought(text, signature string) {
	if text == "" {
		return
	}
	for word := range turns.Words(text) {
		k.delta(`{"reasoningContent":{"text":` + script.Quote(word) + `}}`)
	}
	if signature != "" {
		k.delta(`{"reasoningContent":{"signature":` + script.Quote(signature) + `}}`)
	}
	k.close()
}

func (k *talk) call(c script.Call, id string) {
	k.thought(c.Reasoning, c.Signature)
	k.event("contentBlockStart", fmt.Sprintf(`"contentBlockIndex":%d,"start":{"toolUse":{"toolUseId":%s,"name":%s}}`, k.blocks, script.Quote(id), script.Quote(c.Tool)))
	for piece := range script.Pieces(c.Args) {
		k.delta(`{"toolUse":{"input":` + script.Quote(piece) + `}}`)
	}
	k.close()
}

// events is the whole answer. The service runs no tools of its own, so it has no words
// for that.
func events(t *script.Turn, re script.Reply) [][]byte {
	k := &talk{}
	k.event("messageStart", `"role":"assistant"`)
	k.thought(t.Reasoning, t.Signature)
	if t.Redacted != "" {
		k.delta(`{"reasoningContent":{"redactedContent":` + script.Quote(t.Redacted) + `}}`)
		k.close()
	}
	if t.Text != "" {
		for word := range turns.Words(t.Text) {
			k.delta(`{"text":` + script.Quote(word) + `}`)
		}
		k.close()
	}
	for i, c := range t.Calls {
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("tooluse_%d_%d", re.Turn, i+1)
		}
		k.call(c, id)
	}
	return append(k.events, end(t)...)
}

// end is what follows the last block. Nothing is counted before.
func end(t *script.Turn) [][]byte {
	u := t.Usage
	k := &talk{}
	k.event("messageStop", `"stopReason":`+stop(t))
	k.event("metadata", fmt.Sprintf(`"metrics":{"latencyMs":1},"usage":{"cacheReadInputTokens":%d,"cacheWriteInputTokens":%d,`+
		`"inputTokens":%d,"outputTokens":%d,"totalTokens":%d}`, u.Cached, u.CacheWrite, u.Input, u.Output, u.Input+u.Cached+u.CacheWrite+u.Output))
	return k.events
}

func stop(t *script.Turn) string {
	switch {
	case t.NoStop:
		return "null"
	case t.Stop != "":
		return script.Quote(t.Stop)
	case t.Length:
		return `"max_tokens"`
	case len(t.Calls) > 0:
		return `"tool_use"`
	}
	return `"end_turn"`
}

// begin and finish stand around words that are too many.
func begin(*script.Turn, script.Reply) [][]byte {
	k := &talk{}
	k.event("messageStart", `"role":"assistant"`)
	return k.events
}

func finish(t *script.Turn, _ script.Reply) [][]byte {
	k := &talk{}
	k.close()
	return append(k.events, end(t)...)
}

// words is a piece of text, with a member that the service does not have.
func words(text, extra string) []byte {
	payload := `{"contentBlockIndex":0,"delta":{"text":` + script.Quote(text) + `},` + padding
	if extra != "" {
		payload += `,"extra":` + extra
	}
	return Event("contentBlockDelta", payload+"}")
}
