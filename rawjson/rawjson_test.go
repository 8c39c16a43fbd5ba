package rawjson_test

import (
	stdjson "encoding/json"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/rawjson"
)

type document struct {
	Raw    rawjson.Value            `json:"raw"`
	Absent rawjson.Value            `json:"absent,omitzero"`
	Map    map[string]rawjson.Value `json:"map"`
}

// Both libraries pass a value on byte for byte.
func TestBothLibraries(t *testing.T) {
	const text = `{"raw":{"b":1.0,"a":[12345678901234567890]},"map":{"x":null}}`
	for name, library := range map[string]struct {
		decode func([]byte, any) error
		encode func(any) ([]byte, error)
	}{
		"encoding/json":      {stdjson.Unmarshal, stdjson.Marshal},
		"go-json-experiment": {func(b []byte, v any) error { return json.Unmarshal(b, v) }, func(v any) ([]byte, error) { return json.Marshal(v) }},
	} {
		var d document
		if err := library.decode([]byte(text), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.Raw.String() != `{"b":1.0,"a":[12345678901234567890]}` || d.Absent != nil || d.Map["x"].Kind() != 'n' {
			t.Errorf("%s: decoded %+v", name, d)
		}
		if got, err := library.encode(d); err != nil || string(got) != text {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if got, err := library.encode(document{}); err != nil || name == "encoding/json" && string(got) != `{"raw":null,"map":null}` {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if _, err := library.encode(document{Raw: rawjson.Value(`{`)}); err == nil {
			t.Errorf("%s writes what is not JSON", name)
		}
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]struct {
		kind  byte
		valid bool
	}{
		``: {0, false}, ` {"a":1}`: {'{', true}, `{"a":1,"a":2}`: {'{', false}, `[`: {'[', false}, `-1`: {'0', true}, `true`: {'t', true}, `x`: {0, false},
	} {
		if v := rawjson.Value(text); v.Kind() != want.kind || v.IsValid() != want.valid {
			t.Errorf("%q: kind %q, valid %t", text, v.Kind(), v.IsValid())
		}
	}
	v := rawjson.Value(`[1]`)
	c := v.Clone()
	c[1] = '2'
	if v.String() != `[1]` || rawjson.Value(nil).Clone() != nil || rawjson.Value(nil).String() != "null" {
		t.Error("Clone shares, or nil is not null")
	}
}

func TestIsWithin(t *testing.T) {
	for text, want := range map[string]bool{`1`: true, `[[1]]`: true, `{"a":[]}`: true, `[[[]]]`: false, `[[`: false, `{"a":1,"a":2}`: false} {
		if got := rawjson.Value(text).IsWithin(2); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}
