package llm

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// An sse is one event of a stream.
type sse struct{ name, data string }

func (e sse) String() string { return "event: " + e.name + "\ndata: " + e.data + "\n\n" }

// A reply is what an answer takes over from the request.
type reply struct {
	id, model string
	turn      int
}

// quote writes s as JSON. What the wire carries is valid UTF-8 whatever s is.
func quote(s string) string {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd")) // fails for other texts only
	return string(b)
}

// sign makes the signature of a thinking block. It follows from the text, so that the
// server knows its own without remembering them.
func sign(text string) string {
	sum := sha256.Sum256([]byte("signed by the script: " + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// events is the whole answer, event by event, as the service emits it.
func (t *turn) events(r reply) []sse {
	events := []sse{t.start(r)}
	index := 0
	block := func(head string, deltas ...string) {
		events = append(events, sse{"content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, head)})
		if index == 0 {
			events = append(events, ping) // the service sends one after the first block has begun
		}
		for _, d := range deltas {
			events = append(events, delta(index, d))
		}
		events = append(events, sse{"content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)})
		index++
	}
	if t.reasoning != "" {
		deltas := collect("thinking_delta", "thinking", words(t.reasoning))
		if t.signature != "" {
			deltas = append(deltas, `{"type":"signature_delta","signature":`+quote(t.signature)+`}`)
		}
		block(`{"type":"thinking","thinking":"","signature":""}`, deltas...)
	}
	if t.redacted != "" {
		block(`{"type":"redacted_thinking","data":` + quote(t.redacted) + `}`)
	}
	if t.text != "" {
		block(`{"type":"text","text":""}`, collect("text_delta", "text", words(t.text))...)
	}
	for i, c := range t.calls {
		id := c.id
		if id == "" {
			id = fmt.Sprintf("toolu_%d_%d", r.turn, i+1)
		}
		block(`{"type":"tool_use","id":`+quote(id)+`,"name":`+quote(c.tool)+`,"input":{}}`,
			collect("input_json_delta", "partial_json", pieces(c.args))...)
	}
	if index == 0 {
		events = append(events, ping)
	}
	return append(events, t.end()...)
}

var ping = sse{"ping", `{"type": "ping"}`} // with the space, as the service writes it

func delta(index int, d string) sse {
	return sse{"content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)}
}

func collect(kind, key string, parts iter.Seq[string]) (deltas []string) {
	for part := range parts {
		deltas = append(deltas, `{"type":"`+kind+`","`+key+`":`+quote(part)+`}`)
	}
	return deltas
}

func (t *turn) start(r reply) sse {
	return sse{"message_start", fmt.Sprintf(`{"type":"message_start","message":{"model":%s,"id":%s,"type":"message","role":"assistant","content":[],`+
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,"service_tier":"standard"}}}`,
		quote(r.model), quote(r.id), t.usage.Input, t.usage.CacheWrite, t.usage.Cached, t.usage.CacheWrite, min(t.usage.Output, 1))}
}

// end is what follows the last block. Its usage counts from the start of the message,
// so a reader that adds it to the first one counts twice.
func (t *turn) end() []sse {
	stop := "null"
	if t.stop != "" {
		stop = quote(t.stop)
	}
	details := ""
	if t.usage.Reasoning > 0 {
		details = fmt.Sprintf(`,"output_tokens_details":{"thinking_tokens":%d}`, t.usage.Reasoning)
	}
	return []sse{
		{"message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"input_tokens":%d,`+
			`"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d%s}}`,
			stop, t.usage.Input, t.usage.CacheWrite, t.usage.Cached, t.usage.Output, details)},
		{"message_stop", `{"type":"message_stop"}`},
	}
}

// words cuts s after the white space that follows each word.
func words(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			end := len(s)
			if space := strings.IndexFunc(s, unicode.IsSpace); space >= 0 {
				end = len(s) - len(strings.TrimLeftFunc(s[space:], unicode.IsSpace))
			}
			if !yield(s[:end]) {
				return
			}
			s = s[end:]
		}
	}
}

// pieces cuts arguments without regard for what they mean: in the middle of names,
// numbers and escapes. The first one is empty, as the service has it.
func pieces(s string) iter.Seq[string] {
	size := max(7, len(s)/32)
	return func(yield func(string) bool) {
		if !yield("") {
			return
		}
		for s != "" {
			end := min(size, len(s))
			for end < len(s) && !utf8.RuneStart(s[end]) {
				end++
			}
			if !yield(s[:end]) {
				return
			}
			s = s[end:]
		}
	}
}
