package script

import (
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
)

// Where an answer ends can be counted from both ends, and only within it.
func TestLast(t *testing.T) {
	for text, want := range map[string]int{
		"text = \"\"": 4, "text = \"\"\ncutAfter = 0": 0, "text = \"\"\ncutAfter = 4": 4, "text = \"\"\nendAfter = -1": 3, "text = \"\"\nerrorAfter = -4": 0,
		"text = \"\"\ncutAfter = 3\ncutInside = true":  3,
		"text = \"\"\ncutAfter = 5":                    -1,
		"text = \"\"\nerrorAfter = -5":                 -1,
		"text = \"\"\ncutAfter = 4\ncutInside = true":  -1,
		"text = \"\"\ncutAfter = -1\ncutInside = true": 3,
	} {
		a := &mustParse(t, "[[turn]]\n"+text).answers[0]
		got, err := a.Last(4)
		if want < 0 && (err == nil || !strings.Contains(err.Error(), "[[turn]] number 1 ends after ")) || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

// An answer that uses more than a request allows is cut there, on every wire.
func TestWithin(t *testing.T) {
	a := &mustParse(t, "[[turn]]\ntext = \"one two\"\nstop = \"x\"\nusage = { output = 100, reasoning = 60 }").answers[0]
	for limit, want := range map[int]Turn{
		0:   {Text: "one two", Stop: "x", Usage: Usage{Output: 100, Reasoning: 60}},
		100: {Text: "one two", Stop: "x", Usage: Usage{Output: 100, Reasoning: 60}},
		99:  {Text: "one two", Length: true, Usage: Usage{Output: 99, Reasoning: 60}},
		50:  {Text: "one two", Length: true, Usage: Usage{Output: 50, Reasoning: 50}},
	} {
		got := a.Within(limit).Turn
		if got.Text != want.Text || got.Stop != want.Stop || got.Length != want.Length || got.Usage != want.Usage {
			t.Errorf("%d: %+v", limit, got)
		}
	}
}

// A failure is one thing on every wire; how it is worded is theirs.
func TestKinds(t *testing.T) {
	for text, want := range map[string]Failure{
		"[turn.error]\nkind = \"overloaded\"":                                  {Status: 529, Message: "the script has an error here"},
		"[turn.error]\nkind = \"rateLimit\"\nmessage = \"slow\"":               {Status: 429, Message: "slow"},
		"[turn.error]\nstatus = 400\ntype = \"own\"":                           {Status: 400, Kind: "own", Message: "the script has an error here"},
		"text = \"\"\nerrorAfter = 1":                                          {Message: "Overloaded"},
		"text = \"\"\nerrorAfter = 1\n[turn.error]\nkind = \"internal\"":       {Status: 500, Message: "the script has an error here"},
		"text = \"\"\nerrorAfter = 1\n[turn.error]\ntype = \"server_error\"":   {Kind: "server_error", Message: "the script has an error here"},
		"raw = \"html\"\nerror = { kind = \"unavailable\", message = \"no\" }": {Status: 503, Message: "no"},
	} {
		a := &mustParse(t, "[[turn]]\n"+text).answers[0]
		if *a.Failure != want {
			t.Errorf("%q: %+v", text, *a.Failure)
		}
		if status := a.Status(); strings.Contains(text, "errorAfter") != (status == 200) {
			t.Errorf("%q: status %d", text, status)
		}
	}
}

// What an answer gave can be told from what others did.
func TestGave(t *testing.T) {
	s := mustParse(t, "[[turn]]\nreasoning = \"Hm.\"\nredacted = \"c2VjcmV0\"\nhosted = ['''{\"type\": \"x\", \"n\": 1.0}''']\n"+
		"[[turn.call]]\ntool = \"t\"\nreasoning = \"Now.\"\n[[turn.call]]\ntool = \"t\"\nreasoning = \"Bare.\"\nsignature = \"\"")
	for name, ok := range map[string]bool{
		"a thought":                s.Gave("Hm.", Sign("Hm.")),
		"a thought before a call":  s.Gave("Now.", Sign("Now.")),
		"a hidden thought":         s.GaveRedacted("c2VjcmV0"),
		"hosted":                   s.GaveHosted(`{"n":1,"type":"x"}`),
		"no signature":             !s.Gave("Bare.", ""),
		"another signature":        !s.Gave("Hm.", Sign("Now.")),
		"another thought":          !s.Gave("Hmm.", Sign("Hm.")),
		"nothing hidden":           !s.GaveRedacted(""),
		"other hosted":             !s.GaveHosted(`{"n":2,"type":"x"}`),
		"hosted that cannot be":    !s.GaveHosted(`{`),
		"the key of a silent file": s.Key() == Key,
	} {
		if !ok {
			t.Error(name)
		}
	}
}

// Words and pieces are all of the text, in order.
func TestWordsAndPieces(t *testing.T) {
	for _, text := range []string{"", "one", " one  two\nthree ", "é👋é👋é👋é👋", strings.Repeat("long ", 100)} {
		if got := strings.Join(slices.Collect(turns.Words(text)), ""); got != text {
			t.Errorf("words of %q are %q", text, got)
		}
		pieces := slices.Collect(Pieces(text))
		if strings.Join(pieces, "") != text || pieces[0] != "" {
			t.Errorf("pieces of %q are %q", text, pieces)
		}
	}
}
