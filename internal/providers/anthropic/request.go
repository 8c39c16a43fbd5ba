package anthropic

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// cacheMark asks the provider to cache everything up to and including its block.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

const maxMarks = 4 // that a request may have

// body is a request, in pieces. The messages' pieces are shared between requests.
func (m *Model) body(req *model.Request) [][]byte {
	talk := m.conversation(req.Messages)
	b := &body{marked: talk.Marked}
	limit, thinking := m.limits(req, talk)
	b.Text(`{"model":` + string(wire.Quote(m.cfg.Model)) + `,"max_tokens":` + strconv.Itoa(limit) + `,"stream":true` + thinking)
	if len(talk.System) > 0 {
		b.Text(`,"system":[`)
		b.blocks(talk.System)
		b.Text(`]`)
	}
	m.tools(b, req, talk.Talk)
	b.Text(`,"messages":[`)
	for i, turn := range talk.Turns {
		if i > 0 {
			b.Text(`,`)
		}
		b.Text(`{"role":"` + turn[0].voice.Role + `","content":[`)
		b.blocks(turn)
		b.Text(`]}`)
	}
	b.Text(`]`)
	m.cfg.Extra.AppendTo(&b.Body)
	b.Text(`}`)
	return b.Pieces
}

// conversation encodes the messages, the first of them without their media if all would be too
// much for one request.
func (m *Model) conversation(messages []*event.Message) *wire.Conversation[*encoded] {
	all := m.messages.All(messages, m.encode,
		wire.Limit[*encoded]{Most: maxMedia, Of: func(e *encoded) int { return e.media }},
		wire.Limit[*encoded]{Most: manyImages, Of: func(e *encoded) int { return e.images }})
	m.settle(messages, all)
	c := &wire.Conversation[*encoded]{}
	c.Arrange(messages, all, maxMarks)
	return c
}

type body struct {
	wire.Body
	marked map[*encoded]bool
}

func (b *body) blocks(messages []*encoded) {
	for i, e := range messages {
		if i > 0 {
			b.Text(`,`)
		}
		b.Add(e.open)
		if b.marked[e] {
			b.Text(cacheMark)
		}
		b.Text(`}`)
	}
}

// maxName is the longest name of a tool, and the longest id of a call, that are sent.
const maxName = 128

// tools adds the part of a request that is about tools. For an answer in words they are
// listed as well, the provider's too: its cache begins with them, and the conversation
// speaks of them.
func (m *Model) tools(b *body, req *model.Request, talk []*encoded) {
	list := m.lists.Get(req.Tools, m.writeTools)
	if len(list) == 0 {
		return
	}
	b.Add(list)
	choice := "auto"
	if req.TextOnly {
		choice = "none"
	}
	b.Text(`,"tool_choice":{"type":"` + choice + `"}`)
	if container := m.container(talk); container != nil {
		b.Text(`,"container":`)
		b.Add(container)
	}
}

var toolForm = wire.ToolForm{Open: `{`, Schema: `,"input_schema":`, Close: `}`, Fit: wire.AnyObject, MaxName: maxName}

func (m *Model) writeTools(tools []model.Tool) []byte {
	// Two of one name are refused; the provider's was asked for by name.
	list := toolForm.Write(slices.DeleteFunc(slices.Clone(tools), func(t model.Tool) bool { return m.hosted.has(t.Name) }))
	for _, t := range m.hosted.tools {
		list = append(append(list, ','), marshal(t)...)
	}
	if len(list) == 0 {
		return nil
	}
	return slices.Concat([]byte(`,"tools":[`), bytes.TrimPrefix(list, []byte(",")), []byte(`]`))
}
