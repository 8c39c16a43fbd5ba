package responses

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// response is the answer as a whole, which the first and the last events have.
func (s *telling) response(status, reason string) string {
	details, usage := "null", "null"
	if reason != "" {
		details = `{"reason":` + script.Quote(reason) + `}`
	}
	if status != "in_progress" {
		usage = counted(s.turn.Usage)
	}
	return fmt.Sprintf(`{"id":"resp_%s","object":"response","created_at":1700000000,"status":%q,"background":false,"error":null,`+
		`"incomplete_details":%s,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":%s,"output":[%s],`+
		`"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":"low","summary":"detailed"},"service_tier":"default",`+
		`"temperature":1.0,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,`+
		`"truncation":"disabled","usage":%s,"metadata":{}}`,
		s.reply.ID, status, details, script.Quote(s.reply.Model), strings.Join(s.output, ","), usage)
}

// counted is the usage as this API counts: what came from the cache, or went into it, is
// input too.
func counted(u script.Usage) string {
	input := u.Input + u.Cached + u.CacheWrite
	return fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},`+
		`"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
		input, u.Cached, u.CacheWrite, u.Output, u.Reasoning, input+u.Output)
}

// finish tells the end. A stop of the script is the reason of an answer that is not
// complete, whatever it is; an end without a reason has none.
func (s *telling) finish() {
	reason := s.turn.Stop
	switch {
	case s.turn.Length:
		reason = "max_output_tokens"
	case s.turn.NoStop:
		s.emit("response.incomplete", `,"response":`+s.response("incomplete", ""))
		return
	case reason == "", reason == "completed", reason == "refusal":
		s.emit("response.completed", `,"response":`+s.response("completed", ""))
		return
	}
	s.emit("response.incomplete", `,"response":`+s.response("incomplete", reason))
}

// begin and end are what stands around the words of an answer that is too much. The words
// are delta's.
func begin(t *script.Turn, re script.Reply) [][]byte {
	s := &telling{turn: t, reply: re}
	s.start()
	s.open(`{"id":"msg_scripted","type":"message","status":"in_progress","role":"assistant","content":[]}`)
	return s.out
}

func end(t *script.Turn, re script.Reply) [][]byte {
	s := &telling{turn: t, reply: re}
	s.done(`{"id":"msg_scripted","type":"message","status":"completed","role":"assistant","content":[]}`, false)
	s.finish()
	return s.out
}

const deltaHead = `{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_scripted","output_index":0,"content_index":0,"logprobs":[]`

func delta(words, extra string) []byte {
	if extra != "" {
		extra = `,"extra":` + extra
	}
	return script.SSE("response.output_text.delta", deltaHead+extra+`,"delta":`+script.Quote(words)+`}`)
}

func huge(int) (head, tail []byte) {
	whole := string(delta("@", ""))
	before, after, _ := strings.Cut(whole, "@")
	return []byte(before), []byte(after)
}
