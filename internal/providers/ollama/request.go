package ollama

import (
	"maps"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// maxMedia bounds what the media of one request weigh, in base64. The API has no limit; a
// model on this machine looks at all of them again with every request.
const maxMedia = 32 << 20

// body is a request. The pieces of messages are shared between requests.
func (m *Model) body(req *model.Request, think string) [][]byte {
	var b wire.Body
	b.Text(`{"model":` + string(wire.Quote(m.config.Model)) + `,"stream":true`)
	if think != "" {
		b.Text(`,"think":` + think)
	}
	// Neither before the answer nor in its middle may the conversation be cut.
	for _, name := range []string{"truncate", "shift"} {
		if !m.config.Extra.Has(name) {
			b.Text(`,"` + name + `":false`)
		}
	}
	if options := m.limited(m.config.Limit(req)); len(options) > 0 {
		b.Text(`,"options":` + options.Object(nil))
	}
	// The API has no way to say that tools are not to be called.
	if len(req.Tools) > 0 && !req.TextOnly {
		b.Text(`,"tools":[`)
		b.Add(m.lists.Get(req.Tools, toolForm.Write))
		b.Text(`]`)
	}
	b.Text(`,"messages":[`)
	m.talk(&b, req.Messages)
	b.Text(`]`)
	m.config.Extra.AppendTo(&b)
	b.Text(`}`)
	return b.Pieces
}

// limited are the options of a request whose answer has at most limit tokens. The limit is what
// a budget has left, so that one of the user's own counts if it is smaller. Numbers
// below 1 mean that there is none.
func (m *Model) limited(limit int) wire.Extra {
	const name = "num_predict"
	own, err := strconv.ParseFloat(string(m.options[name]), 64)
	if limit <= 0 || err == nil && own >= 1 && own <= float64(limit) {
		return m.options
	}
	options := wire.Extra{}
	maps.Copy(options, m.options)
	options[name] = rawjson.Value(strconv.Itoa(limit))
	return options
}

// talk adds the messages. Media that tools returned come in a message of their own, behind
// all results that stand together: models look for results right after their calls.
func (m *Model) talk(b *wire.Body, messages []*event.Message) {
	list := wire.List{Body: b}
	var behind [][]byte
	flush := func() {
		for _, piece := range behind {
			list.Add(piece)
		}
		behind = nil
	}
	all := m.messages.All(messages, m.encode, wire.Limit[*encoded]{Most: m.media, Of: func(e *encoded) int { return e.media }})
	for i, e := range all {
		if messages[i].Type != event.ToolMessage {
			flush()
		}
		list.Add(e.talk)
		behind = append(behind, e.behind)
	}
	flush()
}

// think is how the model is asked to think, as JSON; empty if it is not asked at all.
func (m *Model) think(budget expert.ReasoningBudget) string {
	switch {
	case budget == "", m.thoughtless.Load(), m.config.Extra.Has("think"), m.config.Known.Reasoning == model.ReasoningNone:
		return ""
	case m.thinksInWords():
		return string(wire.Quote(m.word(budget)))
	case budget.Off():
		return "false"
	}
	return "true"
}

// thinksInWords reports whether the model is told how much to think, rather than whether.
// Models of the gpt-oss family do not understand the latter.
func (m *Model) thinksInWords() bool {
	if known := m.config.Known.Reasoning; known != "" {
		return known == model.ReasoningEffort || known == model.ReasoningAdaptive
	}
	name := m.config.Model
	return strings.HasPrefix(name[strings.LastIndex(name, "/")+1:], "gpt-oss")
}

// word is the one for a budget. A model that thinks in words cannot be told not to: what
// comes nearest is the least that it knows.
func (m *Model) word(budget expert.ReasoningBudget) string {
	word := wire.EffortWord(budget)
	if word == "none" || word == "minimal" {
		word = "low"
	}
	if known := m.config.Known.Efforts; len(known) > 0 {
		return wire.HigherEffort(known, word)
	}
	return word
}
