package gemini

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// chunk is one event: parts of the answer, and what was used so far.
func chunk(t *script.Turn, re script.Reply, finish string, parts ...string) []byte {
	candidate := `"content":{"parts":[` + strings.Join(parts, ",") + `],"role":"model"}`
	if finish != "" {
		candidate += `,"finishReason":` + script.Quote(finish)
	}
	return script.SSE("", `{"candidates":[{`+candidate+`,"index":0}],"usageMetadata":`+usage(t.Usage, finish != "")+
		`,"modelVersion":`+script.Quote(re.Model)+`,"responseId":`+script.Quote(re.ID)+`}`)
}

// usage counts as the service does: the input at once, thoughts beside the output.
func usage(u script.Usage, whole bool) string {
	input := u.Input + u.Cached + u.CacheWrite
	text := fmt.Sprintf(`{"promptTokenCount":%d`, input)
	total := input
	if u.Cached > 0 {
		text += fmt.Sprintf(`,"cachedContentTokenCount":%d`, u.Cached)
	}
	if whole {
		text += fmt.Sprintf(`,"candidatesTokenCount":%d`, u.Output-u.Reasoning)
		if u.Reasoning > 0 {
			text += fmt.Sprintf(`,"thoughtsTokenCount":%d`, u.Reasoning)
		}
		total += u.Output
	}
	return text + fmt.Sprintf(`,"totalTokenCount":%d,"promptTokensDetails":[{"modality":"TEXT","tokenCount":%d}]}`, total, input)
}

// events is a whole answer. The signature of a thought comes with what follows from it: the
// call, or an empty text at the end.
func events(t *script.Turn, re script.Reply) (all [][]byte) {
	add := func(part string) { all = append(all, chunk(t, re, "", part)) }
	thinks := func(thought string) {
		for words := range turns.Words(thought) {
			add(`{"text":` + script.Quote(words) + `,"thought":true}`)
		}
	}
	thinks(t.Reasoning)
	for _, block := range t.Hosted {
		add(block)
	}
	for words := range turns.Words(t.Text) {
		add(`{"text":` + script.Quote(words) + `}`)
	}
	for i, c := range t.Calls {
		thinks(c.Reasoning)
		thought, signature := c.Reasoning, c.Signature
		if i == 0 && signature == "" {
			thought, signature = t.Reasoning, t.Signature
		}
		add(call(c, re.Model, thought, signature))
	}
	return append(all, end(t, re))
}

func call(c script.Call, model, thought, signature string) string {
	args := c.Args
	switch {
	case args == "":
		args = "{}"
	case !rawjson.Value(args).IsValid(): // the service has no such thing
		args = script.Quote(args)
	}
	text := `{"functionCall":{`
	if _, third := modelOf("/" + model); third && c.ID != "" {
		text += `"id":` + script.Quote(c.ID) + `,`
	}
	text += `"name":` + script.Quote(c.Tool)
	if args != "{}" {
		text += `,"args":` + args // none are left out
	}
	text += `}`
	if signature != "" {
		text += `,"thoughtSignature":` + script.Quote(seal{thought, signature, c.Tool, rawjson.Value(args)}.encode())
	}
	return text + `}`
}

// end is the last event. It is the only one with a reason.
func end(t *script.Turn, re script.Reply) []byte {
	finish := "STOP"
	switch {
	case t.Stop != "":
		finish = t.Stop
	case t.NoStop:
		finish = ""
	case t.Length:
		finish = "MAX_TOKENS"
	}
	part := `{"text":""}`
	if len(t.Calls) == 0 && t.Signature != "" {
		part = `{"text":"","thoughtSignature":` + script.Quote(seal{Thought: t.Reasoning, Signature: t.Signature, Args: rawjson.Value("{}")}.encode()) + `}`
	}
	return chunk(t, re, finish, part)
}

func delta(words, extra string) []byte {
	if extra != "" {
		extra = `,"extra":` + extra
	}
	return script.SSE("", `{"candidates":[{"content":{"parts":[{"text":`+script.Quote(words)+`}],"role":"model"},"index":0}]`+extra+`}`)
}

func huge(int) (head, tail []byte) {
	return []byte(`data: {"candidates":[{"content":{"parts":[{"text":"`), []byte(`"}],"role":"model"},"index":0}]}` + "\n\n")
}
