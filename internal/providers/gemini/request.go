package gemini

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// body is a request, in pieces. The messages' pieces are shared between requests.
func (m *Model) body(req *model.Request) *wire.Body {
	var system, talk []*encoded
	all := m.messages.All(req.Messages, m.encode, wire.Limit[*encoded]{Most: maxMedia, Of: func(e *encoded) int { return e.media }})
	for i, e := range all {
		switch {
		case len(e.parts) == 0:
		case req.Messages[i].Type == event.InstructionMessage:
			system = append(system, e)
		default:
			talk = append(talk, e)
		}
	}
	b := &wire.Body{}
	b.Text(`{"contents":[`)
	var first []*encoded
	if m.traits.noSystem {
		first, system = system, nil
	}
	m.writeTalk(b, first, wire.Turns(talk, func(e *encoded) string { return e.role }))
	b.Text(`]`)
	if len(system) > 0 {
		b.Text(`,"systemInstruction":{"parts":[`)
		parts := wire.List{Body: b}
		for _, e := range system {
			parts.Add(e.parts[0].json)
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

// writeTalk writes contents. Where a model called, the next content begins with as many
// results as there were calls, in their order: the API counts them.
func (m *Model) writeTalk(b *wire.Body, first []*encoded, turns [][]*encoded) {
	var open []*part // calls without results
	for i, turn := range turns {
		if i > 0 {
			b.Text(`,`)
		}
		b.Text(`{"role":"` + turn[0].role + `","parts":[`)
		parts := &wire.List{Body: b}
		if turn[0].role == roleModel {
			open = writeAnswer(parts, turn)
		} else {
			for _, e := range first {
				parts.Add(textPart(systemText(e)))
			}
			first = nil
			writeRequest(parts, turn, open)
			open = nil
		}
		b.Text(`]}`)
	}
	if len(open) > 0 {
		b.Text(`,{"role":"user","parts":[`)
		writeRequest(&wire.List{Body: b}, nil, open)
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

// writeAnswer writes what a model said, and returns its calls.
func writeAnswer(parts *wire.List, turn []*encoded) (calls []*part) {
	for _, e := range turn {
		for i := range e.parts {
			parts.Add(e.parts[i].json)
			if e.parts[i].isCall() {
				calls = append(calls, &e.parts[i])
			}
		}
	}
	return calls
}

// writeRequest writes what a user said: first the results of calls, then what is attached to
// them, then the rest.
func writeRequest(parts *wire.List, turn []*encoded, calls []*part) {
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
		parts.Add([]byte(head + `"name":` + string(wire.Quote(call.name)) + `,`))
		parts.Body.Add(found.json)
	}
	for _, e := range turn {
		for i := range e.parts {
			if used[&e.parts[i]] {
				for _, a := range e.parts[i].attached {
					parts.Add(a)
				}
			}
		}
	}
	for _, e := range turn {
		for i := range e.parts {
			switch p := &e.parts[i]; {
			case !p.result:
				parts.Add(p.json)
			case !used[p]:
				parts.Add(textPart(wire.LeftOut(string(event.ToolResultPart), "no call asked for it")))
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
