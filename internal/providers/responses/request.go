package responses

import (
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// maxMedia bounds the media of a request, in bytes of base64. The API takes 50 MB.
const maxMedia = 40 << 20

// minTokens is the smallest limit that the API takes.
const minTokens = 16

// body is a request, in pieces. Those of the messages are shared between requests.
func (m *Model) body(req *model.Request, summary bool) [][]byte {
	var b wire.Body
	b.Text(m.head(req, summary))
	m.addTools(&b, req)
	m.cfg.Extra.AppendTo(&b)
	b.Text(`,"input":[`)
	input := wire.List{Body: &b}
	for _, e := range m.messages.All(req.Messages, m.encode, wire.Limit[*encoded]{Most: m.media, Of: func(e *encoded) int { return e.media }}) {
		input.Add(e.items)
	}
	b.Text(`]}`)
	return b.Pieces
}

// head writes the members that are numbers and names.
func (m *Model) head(req *model.Request, summary bool) string {
	head := `{"model":` + string(wire.Quote(m.cfg.Model)) + `,"stream":true,"store":false`
	if limit := m.cfg.Limit(req); limit > 0 {
		head += `,"max_output_tokens":` + strconv.Itoa(max(limit, minTokens))
	}
	offers := m.offersHosted(req)
	if most := m.hosted.maxCalls; offers && most > 0 && !m.cfg.Extra.Has("max_tool_calls") {
		head += `,"max_tool_calls":` + strconv.Itoa(most)
	}
	own := m.cfg.Extra.Has(memberReasoning) // the user says how it thinks
	thinks := (m.thinks.isMentioned(req.Reasoning) || own && m.thinks.can) && !m.thoughtless.Load()
	if thinks && !own {
		head += m.thinks.member(req.Reasoning, offers, summary)
	}
	var include []string
	if thinks { // others refuse to be asked
		include = append(include, "reasoning.encrypted_content")
	}
	if offers {
		include = append(include, m.hosted.include...)
	}
	if len(include) > 0 {
		head += `,"include":["` + strings.Join(include, `","`) + `"]`
	}
	return head
}
