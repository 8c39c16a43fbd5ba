package llm

import (
	"errors"
	"fmt"
	"strings"
)

// rules say which requests a turn answers. All that are given must hold; a zero value
// is not given.
type rules struct {
	system   string
	query    string
	turn     int
	attempt  int
	contains string
}

// asked is what rules look at.
type asked struct {
	system, query, last string
	turn, attempt       int
}

func (t turnTable) rules() (r rules, err error) {
	for _, n := range []*int{t.Turn, t.Attempt} {
		if n != nil && *n < 1 {
			return r, fmt.Errorf("turn or attempt is %d; counting starts at 1", *n)
		}
	}
	for _, s := range []*string{t.System, t.Query, t.Contains} {
		if s != nil && *s == "" {
			return r, errors.New("system, query or contains is empty; leave it out if it does not matter")
		}
	}
	return rules{given(t.System), given(t.Query), given(t.Turn), given(t.Attempt), given(t.Contains)}, nil
}

func given[T any](p *T) (zero T) {
	if p == nil {
		return zero
	}
	return *p
}

// whole reports whether a client that is given the turn has an answer.
func (t *turn) whole() bool {
	return t.failure == nil && t.redirect == "" && t.raw == "" && t.cutAt < 0 && t.endAt < 0
}

// number gives a turn number to each turn that has no rule but a system and a query: the
// turns of one conversation follow each other as they stand in the file. After one that is no whole
// answer, the client is still where it was.
func number(turns []turn) {
	type conversation struct{ system, query string }
	type place struct{ turn, attempt, last int }
	places := make(map[conversation]*place)
	for i := range turns {
		t := &turns[i]
		if t.turn != 0 || t.attempt != 0 || t.contains != "" {
			continue
		}
		at := conversation{t.system, t.query}
		p := places[at]
		if p == nil {
			p = &place{turn: 1, attempt: 1}
			places[at] = p
		} else if last := &turns[p.last]; !last.whole() {
			last.attempt = p.attempt // something follows it
			p.attempt++
		} else {
			p.turn, p.attempt = p.turn+1, 1
		}
		t.turn, p.last = p.turn, i
	}
}

func (r rules) match(a asked) bool {
	return (r.turn == 0 || r.turn == a.turn) &&
		(r.attempt == 0 || r.attempt == a.attempt) &&
		strings.Contains(a.query, r.query) &&
		strings.Contains(a.system, r.system) &&
		strings.Contains(a.last, r.contains)
}

// covers reports whether r answers every request that other answers.
func (r rules) covers(other rules) bool {
	return (r.turn == 0 || r.turn == other.turn) &&
		(r.attempt == 0 || r.attempt == other.attempt) &&
		strings.Contains(other.query, r.query) &&
		strings.Contains(other.system, r.system) &&
		strings.Contains(other.contains, r.contains)
}

// checkReachable finds turns that can never be played. They are a mistake that would
// otherwise show as a wrong answer at another place.
func (s *Script) checkReachable() error {
	for i := range s.turns {
		for j := range i {
			if s.turns[j].covers(s.turns[i].rules) {
				return fmt.Errorf("%s is never reached, since %s answers first; give it other rules or put it before",
					s.turns[i].place, s.turns[j].place)
			}
		}
	}
	return nil
}

// find returns the first turn that answers the request.
func (s *Script) find(a asked) (*turn, *problem) {
	for i := range s.turns {
		if s.turns[i].match(a) {
			return &s.turns[i], nil
		}
	}
	// A status that is not tried again: a hole in the script has to show at once.
	return nil, invalid("the script %s has no answer for turn %d, attempt %d, after %q", s.name, a.turn, a.attempt, short(a.last))
}

func short(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
