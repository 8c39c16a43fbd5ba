package ollama

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// maxMedia bounds what the media of one request weigh, in base64. The API has no limit; a
// model on this machine looks at all of them again with every request.
const maxMedia = 32 << 20

// body is a request. The pieces of messages are shared between requests.
func (m *Model) body(req *model.Request, messages []*event.Message, think string) wire.Body {
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
	b.Text(m.options.text(m.limit(req)))
	// The API has no way to say that tools are not to be called.
	if len(req.Tools) > 0 && !req.TextOnly {
		b.Add(m.lists.Get(req.Tools, writeTools))
	}
	b.Text(`,"messages":[`)
	m.talk(&b, messages)
	b.Text(`]`)
	m.config.Extra.AppendTo(&b)
	b.Text(`}`)
	return b
}

// talk adds the messages. Media that tools returned come in a message of their own, behind
// all results that stand together: models look for results right after their calls.
func (m *Model) talk(b *wire.Body, messages []*event.Message) {
	weights := make([]int, len(messages))
	for i, msg := range messages {
		weights[i] = m.encoded(msg, true).media
	}
	first := wire.Slim(weights, m.media)
	comma := ""
	add := func(piece []byte) {
		if len(piece) > 0 {
			b.Text(comma)
			b.Add(piece)
			comma = ","
		}
	}
	var behind [][]byte
	flush := func() {
		for _, piece := range behind {
			add(piece)
		}
		behind = behind[:0]
	}
	for i, msg := range messages {
		e := m.encoded(msg, i >= first || weights[i] == 0)
		if msg.Type != event.ToolMessage {
			flush()
		}
		add(e.talk)
		if e.behind != nil {
			behind = append(behind, e.behind)
		}
	}
	flush()
}

// limit is how many tokens the answer may have; 0 if nobody limits it.
func (m *Model) limit(req *model.Request) int {
	if req.MaxTokens > 0 && m.config.MaxTokens > 0 {
		return min(req.MaxTokens, m.config.MaxTokens)
	}
	return max(req.MaxTokens, m.config.MaxTokens)
}
