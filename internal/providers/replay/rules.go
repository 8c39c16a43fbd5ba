package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// rules say which requests a turn answers. All that are given must hold; a zero value
// is not given.
type rules struct {
	expert   string
	query    string
	turn     int
	attempt  int
	contains string
}

// number gives a turn number to each turn that has no rule but an expert and a query: the
// turns of one conversation follow each other as they stand in the file. An error that is tried
// again does not use up a number, since the next attempt is for the same turn: it
// takes one attempt, or all that are left if nothing follows it.
func number(turns []turn) {
	type conversation struct{ expert, query string }
	type place struct{ turn, attempt, last int }
	places := make(map[conversation]*place)
	for i := range turns {
		t := &turns[i]
		if t.turn != 0 || t.attempt != 0 || t.contains != "" {
			continue
		}
		at := conversation{t.expert, t.query}
		p := places[at]
		if p == nil {
			p = &place{turn: 1, attempt: 1}
			places[at] = p
		} else if last := &turns[p.last]; last.failure != nil && last.failure.Retryable {
			last.attempt = p.attempt // something follows it
			p.attempt++
		} else {
			p.turn, p.attempt = p.turn+1, 1
		}
		t.turn, p.last = p.turn, i
	}
}

// match reports whether the turn answers a request.
func (r rules) match(req *model.Request) bool {
	return (r.expert == "" || sameExpert(r.expert, req.Expert)) &&
		(r.turn == 0 || r.turn == req.Turn+1) &&
		(r.attempt == 0 || r.attempt == req.Attempt+1) &&
		(r.query == "" || queryContains(req.Messages, r.query)) &&
		(r.contains == "" || newsContain(req.Messages, r.contains))
}

// covers reports whether r answers every request that other answers.
func (r rules) covers(other rules) bool {
	return (r.expert == "" || r.expert == other.expert) &&
		(r.turn == 0 || r.turn == other.turn) &&
		(r.attempt == 0 || r.attempt == other.attempt) &&
		strings.Contains(other.query, r.query) &&
		strings.Contains(other.contains, r.contains)
}

// Each text of a rule is compared with all before it; together they bound that work.
const (
	maxTexts     = 2_000   // turns with a text
	maxTextBytes = 1 << 20 // of all texts
)

// checkReachable finds turns that can never be played. They are a mistake that would
// otherwise show as a wrong answer at another place.
func (c *Cassette) checkReachable() error {
	texts, bytes := 0, 0
	for i := range c.turns {
		if n := len(c.turns[i].query) + len(c.turns[i].contains); n > 0 {
			texts, bytes = texts+1, bytes+n
		}
		if texts > maxTexts || bytes > maxTextBytes {
			return fmt.Errorf("more than %d turns have the rule contains or query, or their texts have more than %d bytes; use turn instead", maxTexts, maxTextBytes)
		}
		for j := range i {
			if c.turns[j].covers(c.turns[i].rules) {
				return fmt.Errorf("%s is never reached, since %s answers first; give it other rules or put it before",
					c.turns[i].place(i), c.turns[j].place(j))
			}
		}
	}
	return nil
}

// sameExpert compares a rule with the key of an Expert, with or without its version.
func sameExpert(rule, key string) bool {
	if rule == key {
		return true
	}
	at := strings.LastIndexByte(key, '@')
	return at > 0 && rule == key[:at]
}

// queryContains looks for text in the query that the conversation began with. All of it
// is about that query, so it tells conversations of one Expert apart, at every turn.
func queryContains(messages []*event.Message, text string) bool {
	first := slices.IndexFunc(messages, func(m *event.Message) bool { return m.Type == event.UserMessage })
	return first >= 0 && partsContain(messages[first].Contents, text)
}

// newsContain looks for text in what was said since the model spoke: what the user wrote,
// what tools returned, and what the runtime adds to both.
func newsContain(messages []*event.Message, text string) bool {
	for _, m := range slices.Backward(messages) {
		switch {
		case m.Type == event.ExpertMessage:
			return false
		case m.Type != event.InstructionMessage && partsContain(m.Contents, text):
			return true
		}
	}
	return false
}

func partsContain(parts []event.Part, text string) bool {
	return slices.ContainsFunc(parts, func(p event.Part) bool {
		return strings.Contains(p.Text, text) || partsContain(p.Contents, text)
	})
}

// find returns the first turn that answers the request.
func (c *Cassette) find(req *model.Request) (*turn, error) {
	for i := range c.turns {
		if c.turns[i].match(req) {
			return &c.turns[i], nil
		}
	}
	return nil, &model.Error{Name: "CassetteError", Message: c.noAnswer(req)}
}

// noAnswer says what was asked, and what there is.
func (c *Cassette) noAnswer(req *model.Request) string {
	asked := fmt.Sprintf("turn %d of expert %q", req.Turn+1, req.Expert)
	if req.Attempt > 0 {
		asked = fmt.Sprintf("attempt %d at %s", req.Attempt+1, asked)
	}
	var experts, turns []string
	conditional := 0
	for i := range c.turns {
		r := c.turns[i].rules
		switch {
		case r.expert != "" && !sameExpert(r.expert, req.Expert):
			experts = append(experts, fmt.Sprintf("%q", r.expert))
		case r.contains != "" || r.query != "" || r.turn == 0 || r.attempt != 0:
			conditional++
		default:
			turns = append(turns, fmt.Sprint(r.turn))
		}
	}
	var has []string
	if len(turns) > 0 {
		has = append(has, "turns "+list(turns))
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

// list joins distinct items, and leaves out what nobody would read.
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
