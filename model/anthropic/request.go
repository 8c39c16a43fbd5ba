package anthropic

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// cacheMark asks the provider to remember everything up to the block it stands in.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// maxMarks is how many marks a request may have. One is kept for the end.
const maxMarks = 4

// body is a request, in pieces. The messages' pieces are shared between requests.
func (m *Model) body(req *model.Request) [][]byte {
	var system []*encoded
	var talk []*encoded
	marked := map[*encoded]bool{}
	var last *encoded
	for _, msg := range req.Messages {
		e := m.encoded(msg)
		if e.empty() {
			continue
		}
		if msg.Cache && e.markable && len(marked) < maxMarks-1 {
			marked[e] = true
		}
		if msg.Type == event.InstructionMessage {
			system = append(system, e)
			continue
		}
		talk = append(talk, e)
		if e.markable {
			last = e
		}
	}
	if last != nil { // it moves along: the next request finds this one in the cache
		marked[last] = true
	}
	b := &pieces{marked: marked}
	b.text(m.head(req, talk))
	if len(system) > 0 {
		b.text(`,"system":[`)
		b.blocks(system)
		b.text(`]`)
	}
	if tools := m.tools(req); tools != nil {
		b.all = append(b.all, tools)
	}
	b.text(`,"messages":[`)
	for i, turn := range merge(talk) {
		if i > 0 {
			b.text(`,`)
		}
		b.text(`{"role":"` + turn[0].role + `","content":[`)
		b.blocks(turn)
		b.text(`]}`)
	}
	b.text(`]}`)
	return b.all
}

// pieces collects a body.
type pieces struct {
	marked map[*encoded]bool
	all    [][]byte
}

func (p *pieces) text(s string) {
	if s != "" {
		p.all = append(p.all, []byte(s))
	}
}

func (p *pieces) blocks(messages []*encoded) {
	for i, e := range messages {
		if i > 0 {
			p.text(`,`)
		}
		p.all = append(p.all, e.open)
		if p.marked[e] {
			p.text(cacheMark)
		}
		p.text(`}`)
	}
}

// merge puts neighbours of the same role together, as the API wants them.
func merge(messages []*encoded) (turns [][]*encoded) {
	for _, e := range messages {
		if n := len(turns); n > 0 && turns[n-1][0].role == e.role {
			turns[n-1] = append(turns[n-1], e)
			continue
		}
		turns = append(turns, []*encoded{e})
	}
	return turns
}

// head writes the members that are numbers and names.
func (m *Model) head(req *model.Request, talk []*encoded) string {
	name, _ := jsontext.AppendQuote(nil, m.name)
	limit, budget := m.limits(req)
	head := `{"model":` + string(name) + `,"max_tokens":` + strconv.Itoa(limit) + `,"stream":true`
	if budget > 0 && mayThink(talk) {
		head += `,"thinking":{"type":"enabled","budget_tokens":` + strconv.Itoa(budget) + `}`
	}
	return head
}

// mayThink reports whether the conversation can go on with thinking. A turn that used
// tools without a thought before, because thinking was off or the thought was another
// model's, must be ended without: the API refuses it otherwise.
func mayThink(talk []*encoded) bool {
	turns := merge(talk)
	for i := len(turns) - 1; i >= 0; i-- {
		switch first := turns[i][0]; {
		case first.role == roleUser && hasQuery(turns[i]):
			return true // nothing was answered since
		case first.role == roleAssistant && (i == 0 || hasQuery(turns[i-1])):
			return first.thinks
		}
	}
	return true
}

// hasQuery reports whether a user's turn says more than what tools returned.
func hasQuery(turn []*encoded) bool {
	for _, e := range turn {
		if !e.onlyResults {
			return true
		}
	}
	return false
}

const (
	minBudget     = 1024 // the API's own
	minAnswer     = 256  // what a thought leaves for the words after it
	unknownOutput = 4096
)

// limits returns the limit of the answer, and what of it may be spent on thinking. The
// API refuses a budget that is not below the limit; a thought that uses up all of it
// would be paid for and say nothing.
func (m *Model) limits(req *model.Request) (limit, budget int) {
	if !req.Reasoning.Off() && m.canThink() {
		budget = req.Reasoning.Tokens()
	}
	if budget > 0 {
		budget = max(budget, minBudget)
	}
	limit = m.maxTokens
	if limit == 0 {
		known, _ := model.Lookup(provider, m.name)
		limit = known.MaxOutputTokens
	}
	if limit == 0 {
		limit = unknownOutput + budget
	}
	if req.MaxTokens > 0 {
		limit = min(limit, req.MaxTokens)
	}
	if budget = min(budget, limit-minAnswer); budget < minBudget {
		budget = 0 // there is no room for a thought
	}
	return limit, budget
}

// canThink is false for the models before 3.7, which refuse to be asked.
func (m *Model) canThink() bool {
	return !strings.Contains(m.name, "claude-3-") || strings.Contains(m.name, "claude-3-7-")
}
