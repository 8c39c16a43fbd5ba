package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// What extraBody says becomes JSON, and the same JSON every time: a provider's cache goes
// by the bytes.
func TestExtraBody(t *testing.T) {
	c := check(t, settingOf("openai", `
[provider.setting.extraBody]
service_tier = "flex"
seed = 42
temperature = 0.5
whole = 3.0
store = true
"stop words" = ["a", "b\"c", 1, [true]]
[provider.setting.extraBody.text]
z = {}
a = {verbosity = "low"}
empty = []
`))
	want := map[string]rawjson.Value{
		"service_tier": rawjson.Value(`"flex"`),
		"seed":         rawjson.Value(`42`),
		"temperature":  rawjson.Value(`0.5`),
		"whole":        rawjson.Value(`3`),
		"store":        rawjson.Value(`true`),
		"stop words":   rawjson.Value(`["a","b\"c",1,[true]]`),
		"text":         rawjson.Value(`{"a":{"verbosity":"low"},"empty":[],"z":{}}`),
	}
	if d := cmp.Diff(want, c.Settings.Setting.ExtraBody); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, p := range model.Providers() {
		if p != "replay" && len(check(t, settingOf(p, "extraBody = {a = 1}")).Settings.Setting.ExtraBody) != 1 {
			t.Errorf("%s does not read it", p)
		}
	}
}

func TestExtraBodyProblems(t *testing.T) {
	nested := func(n int) string { return "extraBody = {a = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "}" }
	for _, c := range []struct{ keys, want string }{
		{"extraBody = 1", `p.toml:4:13: provider.setting.extraBody: must be a table, not an integer`},
		{"extraBody = {a = 2025-01-01}", `p.toml:4:18: provider.setting.extraBody.a: must not be a date or time; JSON has none: write it as text, in quotes`},
		{"extraBody = {a = [{b = 10:00:00}]}", `p.toml:4:24: provider.setting.extraBody.a.0.b: must not be a date or time; JSON has none: write it as text, in quotes`},
		{"extraBody = {a = nan}", `p.toml:4:18: provider.setting.extraBody.a: is not a number that JSON has; write a finite number`},
		{"extraBody = {a = -inf}", `p.toml:4:18: provider.setting.extraBody.a: is not a number that JSON has; write a finite number`},
		{"extraBody = {'' = 1}", `p.toml:4:14: provider.setting.extraBody."": is empty; write something or remove the key`},
		{"extraBody = {\"a\\u202e\" = 1}", `p.toml:4:14: provider.setting.extraBody."a\u202e": has an invisible character (U+202E); remove it`},
		{nested(17), `p.toml:4:14: provider.setting.extraBody.a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0: is nested more than 16 deep`},
		{"extraBody = {a = '" + strings.Repeat("x", 65536) + "'}", `p.toml:4:1: provider.setting.extraBody: has 65539 bytes as JSON; at most 65536 are allowed, since every request carries it`},
	} {
		check(t, settingOf("openai", c.keys), c.want)
	}
	check(t, settingOf("openai", nested(16)))
}

// Whatever extraBody holds, it is refused or becomes JSON within its bounds.
func FuzzExtraBody(f *testing.F) {
	for _, s := range []string{"a = 1", "a = [1, {b = 'x'}]", "a = 2025-01-01", "a = nan", `a = "\u0000"`, "a.b.c = 1e308", "a = -0.0", "a = 0x7fffffffffffffff", "[[provider.setting.extraBody.a]]\nb = 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, keys string) {
		c, ps := Parse("p.toml", []byte(settingOf("ollama", "[provider.setting.extraBody]\n"+keys)))
		if ps.Err() != nil {
			return
		}
		size := 0
		for name, value := range c.Settings.Setting.ExtraBody {
			if !value.IsValid() || name == "" {
				t.Errorf("%q is %q", name, value)
			}
			size += len(name) + len(value)
		}
		if size > maxExtraBytes {
			t.Errorf("%d bytes", size)
		}
	})
}
