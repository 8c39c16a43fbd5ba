package gemini

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// body is a request, in pieces. The messages' pieces are shared between requests.
func (m *Model) body(req *model.Request) *wire.Body {
	var system, talk []*encoded
	for _, e := range m.encodeAll(req.Messages) {
		switch {
		case len(e.parts) == 0:
		case e.system:
			system = append(system, e.encoded)
		default:
			talk = append(talk, e.encoded)
		}
	}
	b := &wire.Body{}
	b.Text(`{"contents":[`)
	var first []*encoded
	if m.traits.noSystem {
		first, system = system, nil
	}
	m.writeTalk(b, first, merge(talk))
	b.Text(`]`)
	if len(system) > 0 {
		b.Text(`,"systemInstruction":{"parts":[`)
		w := writer{body: b}
		for _, e := range system {
			w.part(e.parts[0].json)
		}
		b.Text(`]}`)
	}
	m.writeTools(b, req)
	m.writeGeneration(b, req)
	if m.settings.safety != nil {
		b.Text(`,"safetySettings":`)
		b.Add(m.settings.safety)
	}
	m.settings.extra.AppendTo(b)
	b.Text(`}`)
	return b
}

type message struct {
	*encoded
	system bool
}

// encodeAll encodes messages. The first go without their media when all are too much.
func (m *Model) encodeAll(messages []*event.Message) []message {
	all := make([]message, len(messages))
	weights := make([]int, len(messages))
	for i, msg := range messages {
		all[i] = message{m.encoded(msg, false), msg.Type == event.InstructionMessage}
		weights[i] = all[i].media
	}
	for i := range wire.Slim(weights, maxMedia) {
		if weights[i] > 0 {
			all[i].encoded = m.encoded(messages[i], true)
		}
	}
	return all
}

// merge puts neighbours of the same role together, as the API wants them.
func merge(messages []*encoded) [][]*encoded {
	return wire.Turns(messages, func(e *encoded) string { return e.role })
}

// writer writes the parts of a content, with commas between them.
type writer struct {
	body *wire.Body
	any  bool
}

var comma = []byte(",")

func (w *writer) part(json []byte) {
	if w.any {
		w.body.Add(comma)
	}
	w.any = true
	w.body.Add(json)
}

// writeTalk writes contents. Where a model called, the next content begins with as many
// results as there were calls, in their order: the API counts them.
func (m *Model) writeTalk(b *wire.Body, first []*encoded, turns [][]*encoded) {
	var open []*part // calls without results
	for i, turn := range turns {
		if i > 0 {
			b.Add(comma)
		}
		b.Text(`{"role":"` + turn[0].role + `","parts":[`)
		w := writer{body: b}
		if turn[0].role == roleModel {
			open = w.answer(turn)
		} else {
			for _, e := range first {
				w.part(textPart(systemText(e)))
			}
			first = nil
			w.request(turn, open)
			open = nil
		}
		b.Text(`]}`)
	}
	if len(open) > 0 {
		b.Text(`,{"role":"user","parts":[`)
		w := writer{body: b}
		w.request(nil, open)
		b.Text(`]}`)
	}
}

// systemText is an instruction for a model that knows none.
func systemText(e *encoded) string {
	var t struct {
		Text string `json:"text"`
	}
	_ = wire.Decode(e.parts[0].json, &t) // it is our own
	return t.Text + "\n\n"
}

// answer writes what a model said, and returns its calls.
func (w *writer) answer(turn []*encoded) (calls []*part) {
	for _, e := range turn {
		for i := range e.parts {
			w.part(e.parts[i].json)
			if e.parts[i].isCall() {
				calls = append(calls, &e.parts[i])
			}
		}
	}
	return calls
}

// request writes what a user said: first the results of calls, then what is attached to
// them, then the rest.
func (w *writer) request(turn []*encoded, calls []*part) {
	used := map[*part]bool{}
	for _, call := range calls {
		found := find(turn, call.call, used)
		if found == nil { // there is no result: the run was stopped in between
			found = &part{json: []byte(`"response":{"error":"There is no result."}}}`)}
		}
		used[found] = true
		head := resultHead
		if call.id != "" {
			head += `"id":` + string(wire.Quote(call.id)) + `,`
		}
		w.part([]byte(head + `"name":` + string(wire.Quote(call.name)) + `,`))
		w.body.Add(found.json)
	}
	for _, e := range turn {
		for i := range e.parts {
			if used[&e.parts[i]] {
				for _, a := range e.parts[i].attached {
					w.part(a)
				}
			}
		}
	}
	for _, e := range turn {
		for i := range e.parts {
			switch p := &e.parts[i]; {
			case !p.result:
				w.part(p.json)
			case !used[p]:
				w.part(textPart(wire.LeftOut(string(event.ToolResultPart), "no call asked for it")))
			}
		}
	}
}

func find(turn []*encoded, call string, used map[*part]bool) *part {
	for _, e := range turn {
		for i := range e.parts {
			if p := &e.parts[i]; p.result && p.call == call && !used[p] {
				return p
			}
		}
	}
	return nil
}
