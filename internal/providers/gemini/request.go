package gemini

import (
	"maps"
	"slices"
	"strconv"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// reserved are the members that perstack writes. The API takes each name in two spellings.
var reserved = []string{
	"contents", "tools", "systemInstruction", "system_instruction", "toolConfig", "tool_config", "generation_config", "safety_settings",
}

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
	if m.traits.noSystem {
		system, talk = nil, slices.Concat(system, talk)
	}
	b := &wire.Body{}
	b.Text(`{"contents":[`)
	writeTalk(b, wire.Turns(talk, func(e *encoded) string { return e.role }))
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
	m.Extra.AppendTo(b)
	b.Text(`}`)
	return b
}

// writeTalk writes contents. Where a model called, the next content begins with as many
// results as there were calls, in their order: the API counts them.
func writeTalk(b *wire.Body, turns [][]*encoded) {
	var open []*part // calls without results
	for i, turn := range turns {
		if i > 0 {
			b.Text(`,`)
		}
		var parts []*part
		for _, e := range turn {
			parts = append(parts, e.parts...)
		}
		if turn[0].role == roleUser {
			writeRequest(b, parts, open)
			open = nil
			continue
		}
		b.Text(`{"role":"model","parts":[`)
		list := wire.List{Body: b}
		for _, p := range parts {
			list.Add(p.json)
			if p.isCall() {
				open = append(open, p)
			}
		}
		b.Text(`]}`)
	}
	if len(open) > 0 {
		b.Text(`,`)
		writeRequest(b, nil, open)
	}
}

// writeRequest writes what a user said: first the results of calls, then what is attached to
// them, then the rest.
func writeRequest(b *wire.Body, parts, calls []*part) {
	b.Text(`{"role":"user","parts":[`)
	list := wire.List{Body: b}
	used := map[*part]bool{}
	for _, call := range calls {
		head, rest := `{"functionResponse":{`, []byte(`"response":{"error":"There is no result."}}}`) // if the run was stopped in between
		if at := slices.IndexFunc(parts, func(p *part) bool { return p.result && p.call == call.call && !used[p] }); at >= 0 {
			used[parts[at]], rest = true, parts[at].json
		}
		if call.id != "" {
			head += `"id":` + string(wire.Quote(call.id)) + `,`
		}
		list.Add([]byte(head + `"name":` + string(wire.Quote(call.name)) + `,`))
		b.Add(rest)
	}
	for _, p := range parts {
		if used[p] {
			for _, a := range p.attached {
				list.Add(a)
			}
		}
	}
	for _, p := range parts {
		switch {
		case !p.result:
			list.Add(p.json)
		case !used[p]:
			list.Add(textPart(wire.LeftOut(string(event.ToolResultPart), "no call asked for it")))
		}
	}
	b.Text(`]}`)
}

// takeSettings reads what a user says about every request. The members of a generationConfig
// of the user's own stand beside ours: temperatures are asked for there.
func (m *Model) takeSettings(safety []expert.SafetySetting) (err error) {
	if m.generation, err = m.TakeSettings("generationConfig", "maxOutputTokens"); err != nil {
		return err
	}
	if len(safety) > 0 {
		own := wire.Extra{"safetySettings": encode(safety)}
		maps.Copy(own, m.Extra)
		m.Extra = own
	}
	return m.generation.Check(m.Provider, "max_output_tokens", "thinking_config", "candidateCount", "candidate_count")
}

// writeGeneration writes the generationConfig of a request, if it needs one.
func (m *Model) writeGeneration(b *wire.Body, req *model.Request) {
	own := wire.Extra{}
	limit := m.Limit(req)
	if limit > 0 {
		limit = wire.Least(limit, m.Known.MaxOutputTokens)
		own["maxOutputTokens"] = rawjson.Value(strconv.Itoa(limit))
	}
	if thinking := m.traits.thinking(req.Reasoning, limit); thinking != nil {
		own["thinkingConfig"] = thinking
	}
	if len(own)+len(m.generation) > 0 {
		b.Text(`,"generationConfig":` + m.generation.Object(own))
	}
}
