package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

func TestBody(t *testing.T) {
	var b wire.Body
	shared := []byte(`"shared"`)
	b.Text(`{"a":`)
	b.Add(shared)
	b.Text("")
	b.Add(nil)
	wire.Extra{"z": rawjson.Value(`{"x": 1}`), "b\"": rawjson.Value(`null`)}.AppendTo(&b)
	wire.Extra(nil).AppendTo(&b)
	b.Text(`}`)
	all := bytes.Join(b.Pieces, nil)
	if want := `{"a":"shared","b\"":null,"z":{"x": 1}}`; string(all) != want || !rawjson.Value(all).IsValid() {
		t.Errorf("%s", all)
	}
	if &b.Pieces[1][0] != &shared[0] {
		t.Error("a piece was copied")
	}
	for _, piece := range b.Pieces {
		if len(piece) == 0 {
			t.Error("an empty piece")
		}
	}
}

// A user may add what we do not know, and nothing that holds a request together.
func TestExtra(t *testing.T) {
	e := wire.Extra{"model": rawjson.Value(`"x"`), "new": rawjson.Value(`1`)}
	if err := e.Check("acme", "messages", "model"); err == nil || !strings.Contains(err.Error(), `acme: extraBody cannot set "model"`) {
		t.Error(err)
	}
	if err := e.Check("acme", "messages"); err != nil {
		t.Error(err)
	}
	if !e.Has("new") || e.Has("old") || wire.Extra(nil).Has("new") {
		t.Error("Has is wrong")
	}
}

func TestJoinLines(t *testing.T) {
	got := wire.JoinLines([]event.Part{{Type: event.TextPart, Text: "a"}, {Type: event.ImageURLPart, URL: "x"}, {Type: event.TextPart, Text: "b"}})
	if got != "a\nb" {
		t.Errorf("%q", got)
	}
}

// Whatever a text holds, it goes into a body as valid JSON.
func TestMarshalAndQuote(t *testing.T) {
	for _, text := range []string{"", "a", "\xff", "\"\\\n\x00", "\ufffd", "ä👋"} {
		quoted := wire.Quote(text)
		marshalled := wire.Marshal(text, nil)
		if !quoted.IsValid() || !rawjson.Value(marshalled).IsValid() {
			t.Errorf("%q: %s, %s", text, quoted, marshalled)
		}
	}
	if got := wire.Marshal(rawjson.Value(`{`), nil); got != nil {
		t.Errorf("a raw value that is none was encoded: %s", got)
	}
	if got := wire.Marshal(rawjson.Value(`{`), func(line string) any { return []string{line} }); !strings.HasPrefix(string(got), `["[a part of type`) {
		t.Errorf("%s", got)
	}
}

func TestAsError(t *testing.T) {
	for words, want := range map[string]string{
		"": "Error", " \n": "Error", "gone": "Error: gone", "Error: gone": "Error: gone", "error: gone": "error: gone", "Errors were made": "Error: Errors were made",
	} {
		if got := wire.AsError(words); got != want {
			t.Errorf("%q became %q, want %q", words, got, want)
		}
	}
}
