package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/model"
)

// asked returns what the rules look at in a request.
func asked(req *model.Request) *turns.Request {
	return &turns.Request{
		Expert: req.Expert, Turn: req.Turn + 1, Attempt: req.Attempt + 1,
		Query: query(req.Messages), News: news(req.Messages),
	}
}

// query returns the texts of the query that the conversation began with. It tells
// conversations of one Expert apart, at every turn.
func query(messages []*event.Message) []string {
	first := slices.IndexFunc(messages, func(m *event.Message) bool { return m.Type == event.UserMessage })
	if first < 0 {
		return nil
	}
	return texts(nil, messages[first].Contents)
}

// news returns the texts since the model last answered: what the user wrote, what tools
// returned, and what the runtime adds to both.
func news(messages []*event.Message) (all []string) {
	for _, m := range slices.Backward(messages) {
		switch m.Type {
		case event.ExpertMessage:
			return all
		case event.InstructionMessage:
		default:
			all = texts(all, m.Contents)
		}
	}
	return all
}

// texts appends all texts in parts, including those inside results of tools.
func texts(all []string, parts []event.Part) []string {
	for i := range parts {
		if parts[i].Text != "" {
			all = append(all, parts[i].Text)
		}
		all = texts(all, parts[i].Contents)
	}
	return all
}

func (c *Cassette) find(req *model.Request) (*turn, error) {
	asked := asked(req)
	for i := range c.turns {
		if c.turns[i].rules.Match(asked) {
			return &c.turns[i], nil
		}
	}
	return nil, &model.Error{Name: "CassetteError", Message: c.noAnswer(req)}
}

// noAnswer says what the request was for, and what the cassette has.
func (c *Cassette) noAnswer(req *model.Request) string {
	asked := fmt.Sprintf("turn %d of expert %q", req.Turn+1, req.Expert)
	if req.Attempt > 0 {
		asked = fmt.Sprintf("attempt %d at %s", req.Attempt+1, asked)
	}
	var experts, numbers []string
	conditional := 0
	for i := range c.turns {
		r := c.turns[i].rules
		switch {
		case r.Expert != "" && !turns.SameExpert(r.Expert, req.Expert):
			experts = append(experts, fmt.Sprintf("%q", r.Expert))
		case r.Contains != "" || r.Query != "" || r.Turn == 0 || r.Attempt != 0:
			conditional++
		default:
			numbers = append(numbers, fmt.Sprint(r.Turn))
		}
	}
	var has []string
	if len(numbers) > 0 {
		has = append(has, "turns "+list(numbers))
	}
	if conditional > 0 {
		has = append(has, fmt.Sprintf("%d with conditions that do not hold", conditional))
	}
	switch {
	case len(has) > 0:
		return fmt.Sprintf("the cassette %s has no answer for %s; for this expert it has %s", c.name, asked, strings.Join(has, " and "))
	case len(experts) > 0:
		return fmt.Sprintf("the cassette %s has no answer for %s; it has answers for expert %s only", c.name, asked, list(experts))
	}
	return fmt.Sprintf("the cassette %s has no answer for %s", c.name, asked)
}

// list joins distinct items, the first eight of them.
func list(items []string) string {
	var distinct []string
	for _, item := range items {
		if !slices.Contains(distinct, item) {
			distinct = append(distinct, item)
		}
		if len(distinct) > 8 {
			return strings.Join(distinct[:8], ", ") + " and more"
		}
	}
	return strings.Join(distinct, ", ")
}
