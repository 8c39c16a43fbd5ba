package responses

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// between stands between the paragraphs of a thought, each of which is a summary of its
// own.
const between = "\n\n"

// A telling is a stream in the making.
type telling struct {
	turn    *script.Turn
	reply   script.Reply
	out     [][]byte
	output  []string // the items that are complete
	thought bool     // the last of them is one
}

// emit adds an event. members are JSON, and begin with a comma if there are any.
func (s *telling) emit(kind, members string) {
	s.out = append(s.out, script.SSE(kind, fmt.Sprintf(`{"type":%q,"sequence_number":%d%s}`, kind, len(s.out), members)))
}

// itemID is the id of the item that comes next. What it ends in is explained at the top.
func (s *telling) itemID(prefix string) string {
	id := fmt.Sprintf("%s_%s_%02d", prefix, s.reply.ID, len(s.output))
	if s.thought {
		id += "t"
	}
	return id
}

// open begins an item, and done ends it. Both have it, in the state it is in.
func (s *telling) open(item string) {
	s.emit("response.output_item.added", fmt.Sprintf(`,"output_index":%d,"item":%s`, len(s.output), item))
}

func (s *telling) done(item string, thought bool) {
	s.emit("response.output_item.done", fmt.Sprintf(`,"output_index":%d,"item":%s`, len(s.output), item))
	s.output, s.thought = append(s.output, item), thought
}

// events is the whole answer.
func events(t *script.Turn, re script.Reply) [][]byte {
	s := &telling{turn: t, reply: re}
	s.start()
	if t.Reasoning != "" {
		s.think(t.Reasoning, t.Signature)
	}
	if t.Redacted != "" {
		s.think("", t.Redacted)
	}
	for _, block := range t.Hosted {
		s.run(block)
	}
	if t.Text != "" || len(s.output)+len(t.Calls) == 0 {
		s.say(t.Text)
	}
	for i, c := range t.Calls {
		if c.Reasoning != "" {
			s.think(c.Reasoning, c.Signature)
		}
		s.call(i, c)
	}
	s.finish()
	return s.out
}

func (s *telling) start() {
	s.emit("response.created", `,"response":`+s.response("in_progress", ""))
	s.emit("response.in_progress", `,"response":`+s.response("in_progress", ""))
}

// think tells a thought. What is encrypted at its beginning is not what it is in the end,
// as with the real service; a client that keeps the wrong one is found out.
func (s *telling) think(text, encrypted string) {
	id := s.itemID("rs")
	sealed := ""
	if encrypted != "" {
		sealed = `,"encrypted_content":` + script.Quote(encrypted)
	}
	s.open(fmt.Sprintf(`{"id":%q,"type":"reasoning","encrypted_content":"not yet","summary":[]}`, id))
	var summary []string
	if text != "" {
		for i, paragraph := range strings.Split(text, between) {
			at := fmt.Sprintf(`,"item_id":%q,"output_index":%d,"summary_index":%d`, id, len(s.output), i)
			part := `{"type":"summary_text","text":` + script.Quote(paragraph) + `}`
			s.emit("response.reasoning_summary_part.added", at+`,"part":{"type":"summary_text","text":""}`)
			for word := range turns.Words(paragraph) {
				s.emit("response.reasoning_summary_text.delta", at+`,"delta":`+script.Quote(word))
			}
			s.emit("response.reasoning_summary_text.done", at+`,"text":`+script.Quote(paragraph))
			s.emit("response.reasoning_summary_part.done", at+`,"part":`+part)
			summary = append(summary, part)
		}
	}
	s.done(fmt.Sprintf(`{"id":%q,"type":"reasoning"%s,"summary":[%s]}`, id, sealed, strings.Join(summary, ",")), true)
}

// run tells what the provider ran itself.
func (s *telling) run(block string) {
	var known struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	_ = json.Unmarshal([]byte(block), &known) // a script may hold any JSON: then there is little to tell
	at := fmt.Sprintf(`,"output_index":%d,"item_id":%s`, len(s.output), script.Quote(known.ID))
	s.open(fmt.Sprintf(`{"id":%s,"type":%s,"status":"in_progress"}`, script.Quote(known.ID), script.Quote(known.Type)))
	if isRun(known.Type) && strings.HasSuffix(known.Type, "_call") {
		s.emit("response."+known.Type+".in_progress", at)
		s.emit("response."+known.Type+".completed", at)
	}
	s.done(block, false)
}

// status is that of an item: the last one of an answer that was cut is incomplete.
func (s *telling) status(last bool) string {
	if last && s.turn.Length {
		return "incomplete"
	}
	return "completed"
}

// say tells a text, or a refusal in words.
func (s *telling) say(text string) {
	id, phase := s.itemID("msg"), "final_answer"
	if len(s.turn.Calls) > 0 {
		phase = "commentary"
	}
	item := func(status, content string) string {
		return fmt.Sprintf(`{"id":%q,"type":"message","status":%q,"phase":%q,"role":"assistant","content":[%s]}`, id, status, phase, content)
	}
	kind, member := "output_text", "text"
	part := func(text string) string {
		return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + script.Quote(text) + `}`
	}
	logprobs := `,"logprobs":[]`
	if s.turn.Stop == "refusal" {
		kind, member, logprobs = "refusal", "refusal", ""
		part = func(text string) string { return `{"type":"refusal","refusal":` + script.Quote(text) + `}` }
	}
	at := fmt.Sprintf(`,"item_id":%q,"output_index":%d,"content_index":0`, id, len(s.output))
	s.open(item("in_progress", ""))
	s.emit("response.content_part.added", at+`,"part":`+part(""))
	for word := range turns.Words(text) {
		s.emit("response."+kind+".delta", at+`,"delta":`+script.Quote(word)+logprobs)
	}
	s.emit("response."+kind+".done", at+`,"`+member+`":`+script.Quote(text)+logprobs)
	s.emit("response.content_part.done", at+`,"part":`+part(text))
	s.done(item(s.status(len(s.turn.Calls) == 0), part(text)), false)
}

// call tells a call of a tool.
func (s *telling) call(i int, c script.Call) {
	id, callID := s.itemID("fc"), c.ID
	if callID == "" {
		callID = fmt.Sprintf("call_%d_%d", s.reply.Turn, i+1)
	}
	item := func(status, args string) string {
		return fmt.Sprintf(`{"id":%q,"type":"function_call","status":%q,"arguments":%s,"call_id":%s,"name":%s}`,
			id, status, script.Quote(args), script.Quote(callID), script.Quote(c.Tool))
	}
	at := fmt.Sprintf(`,"item_id":%q,"output_index":%d`, id, len(s.output))
	s.open(item("in_progress", ""))
	for piece := range script.Pieces(c.Args) {
		s.emit("response.function_call_arguments.delta", at+`,"delta":`+script.Quote(piece))
	}
	s.emit("response.function_call_arguments.done", at+`,"arguments":`+script.Quote(c.Args))
	s.done(item(s.status(i == len(s.turn.Calls)-1), c.Args), false)
}
