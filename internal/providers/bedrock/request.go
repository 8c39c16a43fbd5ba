package bedrock

import (
	"maps"
	"strconv"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// cachePoint asks the provider to cache everything before it.
const cachePoint = `{"cachePoint":{"type":"default"}}`

const (
	maxPoints = 4          // of the cache in a request
	maxMedia  = 18_000_000 // bytes in base64, of a request of 25 MB
)

// body is a request, in pieces. The messages' pieces are shared between requests.
func (m *Model) body(req *model.Request) [][]byte {
	// A request may have so many bytes of media, so many documents, and so many images.
	all := m.messages.All(req.Messages, m.encode,
		wire.Limit[*encoded]{Most: maxMedia, Of: func(e *encoded) int { return e.media }},
		wire.Limit[*encoded]{Most: maxDocuments, Of: func(e *encoded) int { return e.documents }},
		wire.Limit[*encoded]{Most: maxImages, Of: func(e *encoded) int { return e.documents + e.images }})
	points := 0
	if caches(m.cfg.Model) {
		points = maxPoints
	}
	tools := m.tools(req, all, points > 0)
	if len(tools) > 0 && points > 0 {
		points-- // one is behind the tools
	}
	var talk wire.Conversation[*encoded]
	talk.Arrange(req.Messages, all, points)
	b := &request{marked: talk.Marked}
	b.Text(`{`)
	if len(talk.System) > 0 {
		b.Text(`"system":[`)
		b.blocks(talk.System)
		b.Text(`],`)
	}
	b.Add(tools)
	b.Text(`"messages":[`)
	for i, turn := range talk.Turns {
		if i > 0 {
			b.Text(`,`)
		}
		b.Text(`{"role":"` + turn[0].voice.Role + `","content":[`)
		b.blocks(turn)
		b.Text(`]}`)
	}
	b.Text(`]` + m.settings(req, &talk))
	m.cfg.Extra.AppendTo(&b.Body)
	b.Text(`}`)
	return b.Pieces
}

// takeSettings reads what a user says about every request.
func (m *Model) takeSettings(cfg *Config) (err error) {
	if m.inference, err = cfg.TakeSettings("inferenceConfig", "maxTokens"); err != nil {
		return err
	}
	if m.fields, err = cfg.TakeSettings("additionalModelRequestFields", ""); err != nil {
		return err
	}
	own := wire.Extra{"additionalModelResponseFieldPaths": rawjson.Value(`["/stop_sequence"]`)}
	if g := cfg.Guardrail; g != nil {
		guardrail := wire.Extra{"guardrailIdentifier": wire.Quote(g.Identifier), "guardrailVersion": wire.Quote(g.Version)}
		if g.Trace != "" {
			guardrail["trace"] = wire.Quote(g.Trace)
		}
		own["guardrailConfig"] = rawjson.Value(guardrail.Object(wire.Extra{}))
	}
	maps.Copy(own, cfg.Extra)
	cfg.Extra = own
	// A limit beside ours would not be held by the budget of a job.
	return m.fields.Check(cfg.Provider, "max_tokens", "max_tokens_to_sample", "max_gen_len")
}

// settings writes the two objects that hold something of the user's and something of ours.
func (m *Model) settings(req *model.Request, talk *wire.Conversation[*encoded]) (text string) {
	fields, limit := m.thinking(req, talk)
	own := wire.Extra{}
	if limit > 0 {
		own["maxTokens"] = rawjson.Value(strconv.Itoa(limit))
	}
	if len(own)+len(m.inference) > 0 {
		text += `,"inferenceConfig":` + m.inference.Object(own)
	}
	if len(fields)+len(m.fields) > 0 {
		text += `,"additionalModelRequestFields":` + m.fields.Object(fields)
	}
	return text
}

type request struct {
	wire.Body
	marked    map[*encoded]bool
	documents int // so far: each has a number, which makes up its name
}

// blocks writes the content of messages. Numbers of documents count on over those that
// were left out: a name that changes would spoil what the cache knows.
func (r *request) blocks(messages []*encoded) {
	for i, e := range messages {
		if i > 0 {
			r.Text(`,`)
		}
		for j, piece := range e.pieces {
			if j > 0 {
				r.Text(strconv.Itoa(r.documents + j))
			}
			r.Add(piece)
		}
		r.documents += e.documents
		if r.marked[e] {
			r.Text(`,` + cachePoint)
		}
	}
}
