package chat

import (
	"slices"
	"strconv"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// maxMedia is what all media of a request may weigh, in base64. Services take about 50 MB.
const maxMedia = 40_000_000

// body is a request, in pieces. The messages' pieces are shared between requests.
func (m *Model) body(req *model.Request) [][]byte {
	talk := m.talk(req)
	b := &wire.Body{}
	b.Text(`{"model":` + string(wire.Quote(m.cfg.Model)) + `,"stream":true,"stream_options":{"include_usage":true}`)
	if limit := m.cfg.Limit(req); limit > 0 {
		b.Text(`,"` + m.cfg.Dialect.limit + `":` + strconv.Itoa(limit))
	}
	b.Text(m.thinking(req, talk))
	m.cfg.Extra.AppendTo(b)
	m.addTools(b, req)
	b.Text(`,"messages":[`)
	writeTalk(b, talk)
	b.Text(`]}`)
	return b.Pieces
}

// talk returns the messages as they are sent. The oldest media are left out when there
// are too many.
func (m *Model) talk(req *model.Request) []*encoded {
	forms := &m.messages[0]
	if m.fileless.Load() {
		forms = &m.messages[1]
	}
	return forms.All(req.Messages, m.encode, wire.Limit[*encoded]{Most: maxMedia, Of: func(e *encoded) int { return e.media }})
}

// writeTalk puts the messages together. All results of tools come before anything else
// that follows their calls: what does not fit into them waits until the last one is
// written.
func writeTalk(b *wire.Body, talk []*encoded) {
	list := wire.List{Body: b}
	var waiting [][]byte
	flush := func() {
		for _, piece := range waiting {
			list.Add(piece)
		}
		waiting = nil
	}
	for i := 0; i < len(talk); i++ {
		e := talk[i]
		switch {
		case e.empty():
			continue
		case e.role == roleTool:
			list.Add(e.text)
			waiting = append(waiting, e.after)
			continue
		}
		flush()
		if !e.words {
			list.Add(e.text)
			continue
		}
		// Some models refuse two messages of the user in a row.
		list.Add([]byte(`{"role":"user","content":"`))
		b.Add(e.text)
		for ; i+1 < len(talk) && (talk[i+1].empty() || talk[i+1].words); i++ {
			if !talk[i+1].empty() {
				b.Text(`\n\n`)
				b.Add(talk[i+1].text)
			}
		}
		b.Text(`"}`)
	}
	flush()
}

func (m *Model) thinking(req *model.Request, talk []*encoded) (text string) {
	if m.cfg.Dialect.thinking && !m.cfg.Extra.Has("thinking") {
		text = m.toggle(req, talk)
	}
	if m.cfg.Extra.Has("reasoning_effort") || text == thinkingOff {
		return text
	}
	word := m.effort(req.Reasoning)
	switch m.asking.Load() {
	case omits:
		word = ""
	case declines:
		word = "none"
	}
	if word != "" {
		text += `,"reasoning_effort":"` + word + `"`
	}
	return text
}

const (
	thinkingOn  = `,"thinking":{"type":"enabled"}`
	thinkingOff = `,"thinking":{"type":"disabled"}`
)

// toggle switches the thinking of a model of DeepSeek, which may be on if a request says
// nothing. The service refuses to continue thinking about calls of tools whose thoughts it does
// not see: a conversation with calls of another model continues without thinking.
func (m *Model) toggle(req *model.Request, talk []*encoded) string {
	unseen := slices.ContainsFunc(talk, func(e *encoded) bool { return e.calls && !e.thinks })
	switch {
	case m.cfg.Known.Reasoning == model.ReasoningNone, m.alwaysThinks():
		return ""
	case req.Reasoning.Off(), unseen:
		return thinkingOff
	case req.Reasoning.Tokens() == 0:
		return ""
	}
	return thinkingOn
}

// addTools writes the part of a request that is about tools. A request for text alone
// lists them too: the history speaks of them, and what the service has in its cache begins
// with them.
func (m *Model) addTools(b *wire.Body, req *model.Request) {
	if len(req.Tools) == 0 || req.TextOnly && m.cfg.Dialect.bareText {
		return
	}
	b.Text(`,"tools":[`)
	b.Add(m.lists.Get(req.Tools, m.cfg.Dialect.tools().Write))
	choice := "auto"
	if req.TextOnly {
		choice = "none"
	}
	b.Text(`],"tool_choice":"` + choice + `"`)
}

func (d *Dialect) tools() *wire.ToolForm {
	form := &wire.ToolForm{
		Open: `{"type":"function","function":{`, Schema: `,"parameters":`, Close: `}}`, Fit: wire.Schema, MaxName: maxName, MaxDescription: d.maxDescription,
	}
	if d.strict {
		form.Close = `,"strict":false}}`
	}
	return form
}
