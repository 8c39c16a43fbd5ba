package inspect

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/rawjson"
)

// revealTexts looks for invisible characters in what the model is told.
func (b *builder) revealTexts(e *expert.Expert) {
	b.reveal(e, nil, "the instruction", e.Instruction)
	b.reveal(e, nil, "the description", e.Description)
	for _, s := range e.Skills {
		b.reveal(e, s, "the description", s.Description)
		b.reveal(e, s, "the rule", s.Rule)
	}
}

// reveal reports the first of some texts that is not what it looks like.
func (b *builder) reveal(e *expert.Expert, s *expert.Skill, what string, texts ...string) {
	for _, text := range texts {
		where, found := hidden(text)
		if !found {
			continue
		}
		f := Finding{Severity: warning, Expert: e.Key, Message: what + " holds characters that cannot be seen: " + where}
		if s != nil {
			f.Skill = s.Name
		}
		b.find(f)
		return
	}
}

// hidden finds characters that cannot be seen, and shows the first with what is around it.
func hidden(text string) (where string, found bool) {
	const before, after = 20, 40
	plain := []rune(strings.ReplaceAll(text, "\r\n", "\n"))
	shown := []rune(terminal.Reveal(text))
	if string(shown) == string(plain) {
		return "", false
	}
	at := 0
	for at < len(plain) && at < len(shown) && plain[at] == shown[at] {
		at++
	}
	from, to := max(0, at-before), min(len(shown), at+after)
	return terminal.RevealLine(string(shown[from:to])), true
}

// stringsIn are all strings of a JSON value, names included: a model reads them all.
func stringsIn(value rawjson.Value) []string {
	var all []string
	d := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return all // the end; what is no JSON was refused when it was read
		}
		if token.Kind() == '"' {
			all = append(all, token.String())
		}
	}
}
