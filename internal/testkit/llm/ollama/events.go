package ollama

import (
	"fmt"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// created is the time of every line: what it says follows from the script alone.
const created = `"created_at":"2026-01-02T03:04:05.678901234Z"`

// line is one of the stream. message is what stands beside the role.
func line(model, message, rest string) []byte {
	return []byte(`{"model":` + script.Quote(model) + `,` + created + `,"message":{"role":"assistant",` + message + `},` + rest + "}\n")
}

const going = `"done":false`

// events is the whole answer. Calls come whole, each in a line.
func events(t *script.Turn, re script.Reply) (lines [][]byte) {
	thinks := func(thought string) {
		for words := range turns.Words(thought) {
			lines = append(lines, line(re.Model, `"content":"","thinking":`+script.Quote(words), going))
		}
	}
	thinks(t.Reasoning)
	for words := range turns.Words(t.Text) {
		lines = append(lines, line(re.Model, `"content":`+script.Quote(words), going))
	}
	for i, c := range t.Calls {
		thinks(c.Reasoning)
		lines = append(lines, line(re.Model, `"content":"","tool_calls":[`+call(c, i, re.Turn)+`]`, going))
	}
	return append(lines, end(t, re))
}

func call(c script.Call, index, turn int) string {
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", turn, index+1)
	}
	args := c.Args
	switch {
	case args == "":
		args = "{}"
	case !rawjson.Value(args).IsValid(): // which the server itself would fail at
		args = script.Quote(args)
	}
	return fmt.Sprintf(`{"id":%s,"function":{"index":%d,"name":%s,"arguments":%s}}`, script.Quote(id), index, script.Quote(c.Tool), args)
}

// end is the last line. Calls are no reason of their own, and what is 0 is not said.
func end(t *script.Turn, re script.Reply) []byte {
	rest := `"done":true`
	switch {
	case t.Stop != "":
		rest += `,"done_reason":` + script.Quote(t.Stop)
	case t.NoStop:
	case t.Length:
		rest += `,"done_reason":"length"`
	default:
		rest += `,"done_reason":"stop"`
	}
	rest += `,"total_duration":5043500667,"load_duration":5025959`
	for _, n := range []struct {
		name  string
		count int
	}{
		{"prompt_eval_count", t.Usage.Input + t.Usage.Cached + t.Usage.CacheWrite},
		{"prompt_eval_cached_count", t.Usage.Cached},
		{"eval_count", t.Usage.Output},
	} {
		if n.count > 0 {
			rest += fmt.Sprintf(`,%q:%d`, n.name, n.count)
		}
	}
	return line(re.Model, `"content":""`, rest+`,"prompt_eval_duration":325953000,"eval_duration":4709213000`)
}

func delta(words, extra string) []byte {
	rest := going
	if extra != "" {
		rest += `,"extra":` + extra
	}
	return line("m", `"content":`+script.Quote(words), rest)
}

func huge(int) (head, tail []byte) {
	return []byte(`{"model":"m",` + created + `,"message":{"role":"assistant","content":"`), []byte(`"},` + going + "}\n")
}
