package script

import (
	"errors"
	"fmt"
	"net/http"
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

// number gives a turn number to each turn that has no rule but a system and a query: the
// turns of one conversation follow each other as they stand in the file. After one that is no whole
// answer, the client is still where it was.
func number(answers []Answer) {
	type conversation struct{ system, query string }
	type place struct{ turn, attempt, last int }
	places := make(map[conversation]*place)
	for i := range answers {
		a := &answers[i]
		if a.turn != 0 || a.attempt != 0 || a.contains != "" {
			continue
		}
		at := conversation{a.system, a.query}
		p := places[at]
		if p == nil {
			p = &place{turn: 1, attempt: 1}
			places[at] = p
		} else if last := &answers[p.last]; !last.Whole() {
			last.attempt = p.attempt // something follows it
			p.attempt++
		} else {
			p.turn, p.attempt = p.turn+1, 1
		}
		a.turn, p.last = p.turn, i
	}
}

func (r rules) match(a Asked) bool {
	return (r.turn == 0 || r.turn == a.Turn) &&
		(r.attempt == 0 || r.attempt == a.Attempt) &&
		strings.Contains(a.Query, r.query) &&
		strings.Contains(a.System, r.system) &&
		strings.Contains(a.Last, r.contains)
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
	for i := range s.answers {
		for j := range i {
			if s.answers[j].covers(s.answers[i].rules) {
				return fmt.Errorf("%s is never reached, since %s answers first; give it other rules or put it before",
					s.answers[i].place, s.answers[j].place)
			}
		}
	}
	return nil
}

// Find returns the first turn that answers the request. It belongs to the script: nobody
// may change it.
func (s *Script) Find(a Asked) (*Answer, *Problem) {
	for i := range s.answers {
		if s.answers[i].match(a) {
			return &s.answers[i], nil
		}
	}
	// A status that is not tried again: a hole in the script has to show at once.
	return nil, KindProblem(http.StatusBadRequest, "the script %s has no answer for turn %d, attempt %d, after %q", s.name, a.Turn, a.Attempt, Short(a.Last))
}

// Short is the beginning of a text, for messages.
func Short(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
