package script

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/rawjson"
)

const (
	// Key is the API key that is right when the script names none.
	Key = "sk-ant-test"

	// MaxSize is the largest script that [Parse] reads.
	MaxSize = 1 << 20

	// maxTurns bounds the turns of a script: each is compared with all before it.
	maxTurns = 2000
)

// A Script is a list of answers. It is never changed after [Parse] made it.
type Script struct {
	name    string
	key     string
	answers []Answer
}

// Parse reads a script. Its name is in errors.
func Parse(name string, data []byte) (*Script, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: a script may have %d bytes, this one has %d", name, MaxSize, len(data))
	}
	if err := checkDepth(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var file struct {
		Key  *string     `toml:"key"`
		Turn []turnTable `toml:"turn"`
	}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, turns.Located(name, err)
	}
	switch {
	case file.Key != nil && *file.Key == "":
		return nil, fmt.Errorf("%s: key is empty; leave it out to have %s", name, Key)
	case len(file.Turn) == 0:
		return nil, fmt.Errorf("%s: the script has no answers; write a [[turn]] for each", name)
	case len(file.Turn) > maxTurns:
		return nil, fmt.Errorf("%s: a script may have %d turns, this one has %d", name, maxTurns, len(file.Turn))
	}
	s := &Script{name: name, key: Key, answers: make([]Answer, len(file.Turn))}
	if file.Key != nil {
		s.key = *file.Key
	}
	for i, table := range file.Turn {
		a, err := table.answer()
		a.place = fmt.Sprintf("[[turn]] number %d", i+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, a.place, err)
		}
		s.answers[i] = a
	}
	entries := make([]turns.Entry, len(s.answers))
	for i := range s.answers {
		a := &s.answers[i]
		entries[i] = turns.Entry{Rules: &a.rules, Place: a.place, Again: !a.Whole()}
	}
	turns.Number(entries)
	if err := turns.CheckReachable(entries); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Find returns the first turn that answers the request. It belongs to the script and must
// not be changed.
func (s *Script) Find(a Asked) (*Answer, *Problem) {
	req := &turns.Request{
		System: []string{a.System}, Query: []string{a.Query}, News: []string{a.Last}, Turn: a.Turn, Attempt: a.Attempt,
	}
	for i := range s.answers {
		if s.answers[i].rules.Match(req) {
			return &s.answers[i], nil
		}
	}
	// A status that is not tried again: a missing answer has to show at once.
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

// Key is the only API key that is right.
func (s *Script) Key() string { return s.key }

// Gave reports whether an answer of the script has this thought with this signature. One
// without a signature proves nothing.
func (s *Script) Gave(thought, signature string) bool {
	return signature != "" && slices.ContainsFunc(s.answers, func(a Answer) bool {
		return a.Reasoning == thought && a.Signature == signature || slices.ContainsFunc(a.Calls, func(c Call) bool {
			return c.Reasoning == thought && c.Signature == signature
		})
	})
}

// GaveRedacted reports whether an answer of the script has a hidden thought of this data.
func (s *Script) GaveRedacted(data string) bool {
	return data != "" && slices.ContainsFunc(s.answers, func(a Answer) bool { return a.Redacted == data })
}

// GaveHosted reports whether an answer of the script says that the provider ran this. Two
// texts are the same if they are the same JSON.
func (s *Script) GaveHosted(block string) bool {
	want, ok := canonical(block)
	return ok && slices.ContainsFunc(s.answers, func(a Answer) bool {
		return slices.ContainsFunc(a.Hosted, func(given string) bool {
			got, _ := canonical(given) // was checked when it was read
			return got == want
		})
	})
}

func canonical(text string) (string, bool) {
	value := rawjson.Value(text).Clone()
	err := (*jsontext.Value)(&value).Canonicalize()
	return string(value), err == nil
}

// checkDepth bounds the dots of a line before the decoder, which goes down into a dotted
// key one call for each, sees the script. It bounds brackets itself.
func checkDepth(data []byte) error {
	const most = 10_000
	for line := range bytes.Lines(data) {
		if n := bytes.Count(line, []byte(".")); n > most {
			return fmt.Errorf("a line has %d dots, the most is %d", n, most)
		}
	}
	return nil
}
