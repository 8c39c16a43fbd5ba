package schema

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/rawjson"
)

type place struct {
	City string `json:"city" minLength:"2"`
	Zone *int   `json:"zone,omitzero" maximum:"9"`
}

type trip struct {
	From  place             `json:"from" jsonschema:"where it begins"`
	Stops []place           `json:"stops,omitzero"`
	Price float64           `json:"price,omitempty" minimum:"1"`
	Tags  map[string]int    `json:"tags,omitzero"`
	Notes map[string]any    `json:"notes,omitzero"`
	Raw   []byte            `json:"raw,omitzero"`
	Any   rawjson.Value     `json:"any,omitzero"`
	Names []*string         `json:"names,omitzero"`
	Env   map[string]string `json:"-"`
}

func TestForSchema(t *testing.T) {
	a, err := For[trip]()
	if err != nil {
		t.Fatal(err)
	}
	const placeSchema = `"type":"object","properties":{"city":{"type":"string","minLength":2},"zone":{"type":"integer","maximum":9}},%s"required":["city"],"additionalProperties":false}`
	want := `{"type":"object","properties":{` +
		`"from":{` + strings.Replace(placeSchema, "%s", `"description":"where it begins",`, 1) + `,` +
		`"stops":{"type":"array","items":{` + strings.Replace(placeSchema, "%s", "", 1) + `},` +
		`"price":{"type":"number","minimum":1},` +
		`"tags":{"type":"object","additionalProperties":{"type":"integer"}},` +
		`"notes":{"type":"object","additionalProperties":true},` +
		`"raw":{"type":"string","contentEncoding":"base64"},` +
		`"any":true,` +
		`"names":{"type":"array","items":{"type":"string"}}` +
		`},"required":["from"],"additionalProperties":false}`
	if d := cmp.Diff(want, string(a.JSON())); d != "" {
		t.Errorf("schema (-want +got)\n%s", d)
	}
	none, err := For[struct{}]()
	if err != nil || string(none.JSON()) != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("%s, %v", none.JSON(), err)
	}
}

func TestForRefuses(t *testing.T) {
	for name, make := range map[string]func() error{
		"not a struct": func() error { _, err := For[[]string](); return err },
		"a channel":    func() error { _, err := For[struct{ C chan int }](); return err },
		"a duration":   func() error { _, err := For[struct{ D time.Duration }](); return err },
		"a bad limit": func() error {
			_, err := For[struct {
				N int `minimum:"low"`
			}]()
			return err
		},
	} {
		if err := make(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestDecode(t *testing.T) {
	a, err := For[trip]()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{`{"from":{"city":"Kyoto"}}`, ""},
		{`{"from":{"city":"Kyoto","zone":null},"stops":null,"price":null,"tags":null,"raw":null}`, ""},
		{`{"from":{"city":"Kyoto"},"stops":[{"city":"Nara","zone":null}],"notes":{"a":null},"raw":"AAE=","any":[null,1]}`, ""},
		{``, `"from" is required`},
		{`null`, `"from" is required`},
		{`[]`, `expected a JSON object`},
		{`{`, `not valid JSON`},
		{`{"from":null}`, `"from" is required`},
		{`{"from":{}}`, `"from/city" is required`},
		{`{"from":{"city":null}}`, `"from/city" is required`},
		{`{"from":{"city":"K"}}`, `"from/city" must have at least 2 characters`},
		{`{"from":{"city":"Kyoto","town":1}}`, `"from/town" is not an argument`},
		{`{"from":{"city":"Kyoto","city":"Nara"}}`, `"from/city" is given twice`},
		{`{"from":{"city":"Kyoto","city":"Nara"},"price":null}`, `"from/city" is given twice`},
		{`{"from":{"city":"Kyoto"},"stops":[{"city":"Nara"},{"zone":1}]}`, `"stops/1/city" is required`},
		{`{"from":{"city":"Kyoto"},"stops":[{"city":"Nara","zone":10}]}`, `"stops/0/zone" must be at most 9`},
		{`{"from":{"city":"Kyoto"},"stops":[null]}`, `"stops/0" must be an object`},
		{`{"from":{"city":"Kyoto"},"tags":{"a":null}}`, `"tags/a" must be an integer`},
		{`{"from":{"city":"Kyoto"},"tags":{"a":1.5}}`, `"tags/a" must be an integer`},
		{`{"from":{"city":"Kyoto"},"names":[null]}`, `"names/0" must be a string`},
		{`{"from":{"city":"Kyoto"},"price":0.5}`, `"price" must be at least 1`},
		{`{"from":{"city":"Kyoto"},"price":"1"}`, `"price" must be a number`},
		{`{"From":{"city":"Kyoto"}}`, `"From" is not an argument`},
		{`{"from":{"city":"Kyoto"},"Env":{}}`, `"Env" is not an argument`},
	} {
		_, err := a.Decode([]byte(tt.args))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v; want %q", tt.args, err, tt.want)
		}
	}
	got, err := a.Decode([]byte(`{"from":{"city":"Kyoto","zone":3},"tags":{"n":9007199254740993},"raw":"AAE="}`))
	if err != nil || *got.From.Zone != 3 || got.Tags["n"] != 9007199254740993 || string(got.Raw) != "\x00\x01" {
		t.Errorf("%+v, %v", got, err)
	}
}

// What a model sends cannot make the decoder panic.
func FuzzDecode(f *testing.F) {
	a, err := For[trip]()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"from":{"city":"Kyoto"},"stops":[null],"notes":{"a":[null,{"b":"c"}]}}`)
	f.Fuzz(func(t *testing.T, args string) {
		if _, err := a.Decode([]byte(args)); err != nil && !strings.HasPrefix(err.Error(), "invalid arguments: ") {
			t.Error(err)
		}
	})
}
