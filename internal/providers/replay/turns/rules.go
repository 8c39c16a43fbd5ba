// Package turns is what two kinds of files have in common: the cassettes of the replay
// provider, and the scripts of the test server in internal/testkit/llm.
//
// Both are TOML files of [[turn]] tables. Each table is one prepared answer, with rules
// that say which requests it answers. The first turn whose rules all hold is used. The
// rules look at the request alone: nothing is counted between requests, so any number of
// conversations can run at once, and a killed run finds its place again.
//
// Start reading at [Rules]. Number and CheckReachable run once, when a file is read;
// [Rules.Match] runs for each request.
package turns

import (
	"fmt"
	"slices"
	"strings"
)

// Rules say which requests a turn answers. All that are given must hold; a zero value is
// not given.
type Rules struct {
	Expert   string // key of the Expert, with or without its version (cassettes)
	System   string // text in the system prompt (scripts)
	Query    string // text in the query that the conversation began with
	Turn     int    // number of the turn in its conversation, from 1
	Attempt  int    // number of the attempt at this turn, from 1
	Contains string // text in what was said since the model last answered
}

// A Request is what the rules look at.
type Request struct {
	Expert        string
	System        []string // each of these lists holds texts; a rule looks into each alone
	Query         []string
	News          []string
	Turn, Attempt int // from 1
}

// Match reports whether a turn with these rules answers the request.
func (r *Rules) Match(req *Request) bool {
	return (r.Expert == "" || SameExpert(r.Expert, req.Expert)) &&
		(r.Turn == 0 || r.Turn == req.Turn) &&
		(r.Attempt == 0 || r.Attempt == req.Attempt) &&
		occurs(r.System, req.System) &&
		occurs(r.Query, req.Query) &&
		occurs(r.Contains, req.News)
}

// occurs reports whether one of the texts contains what a rule asks for.
func occurs(rule string, texts []string) bool {
	return rule == "" || slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, rule) })
}

// SameExpert compares a rule with the key of an Expert, with or without its version.
func SameExpert(rule, key string) bool {
	if rule == key {
		return true
	}
	at := strings.LastIndexByte(key, '@')
	return at > 0 && rule == key[:at]
}

// covers reports whether r answers every request that other answers.
func (r *Rules) covers(other *Rules) bool {
	return (r.Expert == "" || r.Expert == other.Expert) &&
		(r.Turn == 0 || r.Turn == other.Turn) &&
		(r.Attempt == 0 || r.Attempt == other.Attempt) &&
		strings.Contains(other.System, r.System) &&
		strings.Contains(other.Query, r.Query) &&
		strings.Contains(other.Contains, r.Contains)
}

// A Table is the rules as they are written. A pointer tells a key that is absent from one
// that is empty.
type Table struct {
	Expert, System, Query *string
	Turn, Attempt         *int
	Contains              *string
}

// Rules checks the table and returns what it says.
func (t Table) Rules() (r Rules, err error) {
	for _, text := range []struct {
		key   string
		value *string
		into  *string
	}{
		{"expert", t.Expert, &r.Expert}, {"system", t.System, &r.System},
		{"query", t.Query, &r.Query}, {"contains", t.Contains, &r.Contains},
	} {
		if text.value == nil {
			continue
		}
		if *text.into = *text.value; *text.value == "" {
			return r, fmt.Errorf("%s is empty; leave it out if it does not matter", text.key)
		}
	}
	for _, number := range []struct {
		key   string
		value *int
		into  *int
	}{{"turn", t.Turn, &r.Turn}, {"attempt", t.Attempt, &r.Attempt}} {
		if number.value == nil {
			continue
		}
		if *number.into = *number.value; *number.value < 1 {
			return r, fmt.Errorf("%s is %d; counting starts at 1", number.key, *number.value)
		}
	}
	return r, nil
}

// An Entry is one turn of a file, as far as choosing is concerned.
type Entry struct {
	Rules *Rules
	Place string // where it is written, in the words of messages
	// Again says that the client asks for the same turn again after this answer, because it
	// is a failure that can be retried.
	Again bool
}

// Number gives a turn number to each turn that has none of turn, attempt and contains: the
// turns of one conversation follow each other in the order of the file. A failure that is
// retried uses up an attempt instead of a number, or all remaining attempts if no turn
// follows it.
func Number(entries []Entry) {
	type conversation struct{ expert, system, query string }
	type position struct{ turn, attempt, last int }
	positions := make(map[conversation]*position)
	for i := range entries {
		r := entries[i].Rules
		if r.Turn != 0 || r.Attempt != 0 || r.Contains != "" {
			continue
		}
		of := conversation{r.Expert, r.System, r.Query}
		p := positions[of]
		if p == nil {
			p = &position{turn: 1, attempt: 1}
			positions[of] = p
		} else if last := &entries[p.last]; last.Again {
			last.Rules.Attempt = p.attempt
			p.attempt++
		} else {
			p.turn, p.attempt = p.turn+1, 1
		}
		r.Turn, p.last = p.turn, i
	}
}

// Each text of a rule is compared with all texts before it. These limits bound that work.
const (
	maxTexts     = 2_000   // turns with a text
	maxTextBytes = 1 << 20 // of all texts
)

// CheckReachable finds turns that can never be used. Such a turn is a mistake that would
// otherwise show up as a wrong answer elsewhere.
func CheckReachable(entries []Entry) error {
	texts, bytes := 0, 0
	for i := range entries {
		r := entries[i].Rules
		if n := len(r.System) + len(r.Query) + len(r.Contains); n > 0 {
			texts, bytes = texts+1, bytes+n
		}
		if texts > maxTexts || bytes > maxTextBytes {
			return fmt.Errorf("more than %d turns have the rule contains or query, or their texts have more than %d bytes; use turn instead", maxTexts, maxTextBytes)
		}
		for j := range i {
			if entries[j].Rules.covers(r) {
				return fmt.Errorf("%s is never reached, since %s answers first; give it other rules or put it before",
					entries[i].Place, entries[j].Place)
			}
		}
	}
	return nil
}
