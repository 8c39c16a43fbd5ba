package chat

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// A talk is an answer in the making, event by event, as the service emits it.
type talk struct {
	dialect
	re     script.Reply
	events [][]byte
}

// add adds an event with one delta, given as its members.
func (k *talk) add(delta string) {
	k.events = append(k.events, script.SSE("", k.chunk(delta, "null", "null")))
}

// chunk is the data of an event.
func (k *talk) chunk(delta, reason, usage string) string {
	filter := ""
	if k.azure {
		filter = `"content_filter_results":{},`
	}
	return k.frame(`[{`+filter+`"index":0,"delta":{`+delta+`},"logprobs":null,"finish_reason":`+reason+`}]`, usage)
}

func (k *talk) frame(choices, usage string) string {
	id, fingerprint := "chatcmpl-"+k.re.ID, "fp_0123456789"
	if !k.azure {
		id = k.re.ID
	}
	return `{"id":` + script.Quote(id) + `,"object":"chat.completion.chunk","created":1760000000,"model":` + script.Quote(k.re.Model) +
		`,"system_fingerprint":"` + fingerprint + `","choices":` + choices + `,"usage":` + usage + `}`
}

// events is the whole answer.
func (d dialect) events(t *script.Turn, re script.Reply) [][]byte {
	k := &talk{dialect: d, re: re}
	k.events = d.begin(t, re)
	if !d.azure { // where thoughts stay inside
		k.think(t.Reasoning)
		for _, c := range t.Calls {
			k.think(c.Reasoning)
		}
	}
	for word := range turns.Words(t.Text) {
		k.add(`"content":` + script.Quote(word))
	}
	for i, c := range t.Calls {
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", re.Turn, i+1)
		}
		head := `"id":` + script.Quote(id) + `,"type":"function",`
		named := `"name":` + script.Quote(c.Tool) + `,`
		for piece := range script.Pieces(c.Args) {
			k.add(fmt.Sprintf(`"tool_calls":[{"index":%d,%s"function":{%s"arguments":%s}}]`, i, head, named, script.Quote(piece)))
			head, named = "", "" // which the first piece alone has
		}
	}
	return append(k.events, d.end(t, re)...)
}

func (k *talk) think(thought string) {
	for word := range turns.Words(thought) {
		name := "reasoning_content"
		if k.compatible {
			name = "reasoning"
		}
		k.add(`"content":null,"` + name + `":` + script.Quote(word))
	}
}

// begin is what comes before words: at Azure first what the filter says of the prompt.
func (d dialect) begin(_ *script.Turn, re script.Reply) [][]byte {
	k := &talk{dialect: d, re: re}
	if d.azure {
		k.events = append(k.events, script.SSE("", `{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{`+
			`"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":false,"detected":false},"self_harm":{"filtered":false,"severity":"safe"},`+
			`"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}}]}`))
		k.add(`"role":"assistant","content":"","refusal":null`)
	} else {
		k.add(`"role":"assistant","content":""`)
	}
	return k.events
}

// end is what follows the words. Azure counts in an event of its own, DeepSeek in the one
// that says why the answer ends. The mark of the end comes with the count, as one event of
// the script: an answer that breaks off has neither.
func (d dialect) end(t *script.Turn, re script.Reply) [][]byte {
	k := &talk{dialect: d, re: re}
	done := script.SSE("", "[DONE]")
	if !d.azure && !d.compatible {
		return [][]byte{append(script.SSE("", k.chunk(`"content":""`, stop(t), d.usage(t.Usage))), done...)}
	}
	return [][]byte{
		script.SSE("", k.chunk("", stop(t), "null")),
		append(script.SSE("", k.frame("[]", d.usage(t.Usage))), done...),
	}
}

// usage counts what came from the cache, or was written to it, as input.
func (d dialect) usage(u script.Usage) string {
	input := u.Input + u.Cached + u.CacheWrite
	text := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}`,
		input, u.Output, input+u.Output, u.Cached, u.Reasoning)
	if !d.azure && !d.compatible {
		text += fmt.Sprintf(`,"prompt_cache_hit_tokens":%d,"prompt_cache_miss_tokens":%d`, u.Cached, input-u.Cached)
	}
	return text + "}"
}

func stop(t *script.Turn) string {
	switch {
	case t.NoStop:
		return "null"
	case t.Stop != "":
		return script.Quote(t.Stop)
	case t.Length:
		return `"length"`
	case len(t.Calls) > 0:
		return `"tool_calls"`
	}
	return `"stop"`
}

// words is a piece of text, with a member that the service does not have.
func (d dialect) words(text, extra string) []byte {
	k := &talk{dialect: d}
	delta := `"content":` + script.Quote(text)
	if extra != "" {
		delta += `,"extra":` + extra
	}
	k.add(delta)
	return k.events[0]
}

// huge is what stands before and behind text that is one event.
func (d dialect) huge(int) (head, tail []byte) {
	before, after, _ := strings.Cut(string(d.words("@", "")), "@")
	return []byte(before), []byte(after)
}
