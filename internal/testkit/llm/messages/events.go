package messages

import (
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// A talk is an answer in the making, event by event, as the service emits it.
type talk struct {
	events [][]byte
	blocks int
}

func (k *talk) event(name, data string) { k.events = append(k.events, script.SSE(name, data)) }

// block adds a block: how it begins, and what follows.
func (k *talk) block(head string, deltas ...string) {
	k.open(head)
	for _, d := range deltas {
		k.event("content_block_delta", delta(k.blocks, d))
	}
	k.close()
}

func (k *talk) open(head string) {
	k.event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, k.blocks, head))
	if k.blocks == 0 {
		k.event("ping", ping) // the service sends one after the first block has begun
	}
}

func (k *talk) close() {
	k.event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, k.blocks))
	k.blocks++
}

const (
	ping     = `{"type": "ping"}` // with the space, as the service writes it
	textHead = `{"type":"text","text":""}`
)

func delta(index int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)
}

func deltas(kind, key string, parts iter.Seq[string]) (all []string) {
	for part := range parts {
		all = append(all, `{"type":"`+kind+`","`+key+`":`+script.Quote(part)+`}`)
	}
	return all
}

// events is the whole answer.
func events(t *script.Turn, re script.Reply) [][]byte {
	k := &talk{}
	k.event("message_start", start(t, re))
	k.thought(t.Reasoning, t.Signature)
	if t.Redacted != "" {
		k.block(`{"type":"redacted_thinking","data":` + script.Quote(t.Redacted) + `}`)
	}
	for _, block := range t.Hosted {
		k.hosted(block)
	}
	if t.Text != "" {
		k.block(textHead, deltas("text_delta", "text", turns.Words(t.Text))...)
	}
	for i, c := range t.Calls {
		k.thought(c.Reasoning, c.Signature)
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("toolu_%d_%d", re.Turn, i+1)
		}
		k.block(`{"type":"tool_use","id":`+script.Quote(id)+`,"name":`+script.Quote(c.Tool)+`,"input":{}}`,
			deltas("input_json_delta", "partial_json", script.Pieces(c.Args))...)
	}
	if k.blocks == 0 {
		k.event("ping", ping)
	}
	return append(k.events, end(t)...)
}

func (k *talk) thought(text, signature string) {
	if text == "" {
		return
	}
	all := deltas("thinking_delta", "thinking", turns.Words(text))
	if signature != "" {
		all = append(all, `{"type":"signature_delta","signature":`+script.Quote(signature)+`}`)
	}
	k.block(`{"type":"thinking","thinking":"","signature":""}`, all...)
}

// hosted adds what the provider ran itself. Its calls come in pieces like those of other
// tools; the results come whole.
func (k *talk) hosted(block string) {
	var call struct {
		Type  string        `json:"type"`
		Input rawjson.Value `json:"input"`
	}
	var members map[string]rawjson.Value
	if json.Unmarshal([]byte(block), &call) != nil || json.Unmarshal([]byte(block), &members) != nil || len(call.Input) == 0 {
		k.block(oneLine(block))
		return
	}
	members["input"] = rawjson.Value("{}")
	head, _ := json.Marshal(members, json.Deterministic(true)) // of values that were read
	k.block(string(head), deltas("input_json_delta", "partial_json", script.Pieces(oneLine(string(call.Input))))...)
}

// oneLine is JSON without line ends, of which an event would make several lines.
func oneLine(text string) string {
	v := rawjson.Value(text).Clone()
	_ = (*jsontext.Value)(&v).Compact() // the script was checked
	return string(v)
}

func start(t *script.Turn, re script.Reply) string {
	return fmt.Sprintf(`{"type":"message_start","message":{"model":%s,"id":%s,"type":"message","role":"assistant","content":[],`+
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,"service_tier":"standard"}}}`,
		script.Quote(re.Model), script.Quote("msg_"+re.ID), t.Usage.Input, t.Usage.CacheWrite, t.Usage.Cached, t.Usage.CacheWrite, min(t.Usage.Output, 1))
}

// end is what follows the last block. Its usage counts from the start of the message,
// so a reader that adds it to the first one counts twice.
func end(t *script.Turn) [][]byte {
	details := ""
	if t.Usage.Reasoning > 0 {
		details = fmt.Sprintf(`,"output_tokens_details":{"thinking_tokens":%d}`, t.Usage.Reasoning)
	}
	return [][]byte{
		script.SSE("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"input_tokens":%d,`+
			`"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d%s}}`,
			stop(t), t.Usage.Input, t.Usage.CacheWrite, t.Usage.Cached, t.Usage.Output, details)),
		script.SSE("message_stop", `{"type":"message_stop"}`),
	}
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
func begin(t *script.Turn, re script.Reply) [][]byte {
	k := &talk{}
	k.event("message_start", start(t, re))
	k.open(textHead)
	return k.events
}

func finish(t *script.Turn, _ script.Reply) [][]byte {
	k := &talk{}
	k.close()
	return append(k.events, end(t)...)
}

// words is a piece of text, with a member that the service does not have.
func words(text, extra string) []byte {
	d := `{"type":"text_delta","text":` + script.Quote(text)
	if extra != "" {
		d += `,"extra":` + extra
	}
	return script.SSE("content_block_delta", delta(0, d+"}"))
}

// huge is what stands before and behind text that is one event.
func huge(int) (head, tail []byte) {
	before, after, _ := strings.Cut(string(words("@", "")), "@")
	return []byte(before), []byte(after)
}
