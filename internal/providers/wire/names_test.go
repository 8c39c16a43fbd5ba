package wire_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// The strictest grammar of names that an API has.
var apiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)

// Every name becomes one that APIs take, no two become one, and each finds its way back.
func TestToolName(t *testing.T) {
	names := []string{
		"readTextFile", "a-b", "_x", "a b", "a.b", "a/b", "a_2e_b", "9lives", "-x", "", " ", "файл", "ファイル", "👋",
		strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 66), strings.Repeat("я", 200),
	}
	for _, most := range []int{64, 128} {
		var tools []model.Tool
		seen := map[string]string{}
		add := func(name string) string {
			sent := wire.ToolName(name, most)
			if !apiName.MatchString(sent) || len(sent) > most {
				t.Errorf("%q became %q, which is not a name of %d characters", name, sent, most)
			}
			if other, taken := seen[sent]; taken {
				t.Errorf("%q and %q both became %q", name, other, sent)
			}
			seen[sent] = name
			tools = append(tools, model.Tool{Name: name})
			return sent
		}
		for _, name := range names {
			sent := add(name)
			// A server that takes the name another's became gets one of its own.
			if sent != name {
				add(sent)
			}
		}
		offered := wire.Names{Tools: tools, Most: most}
		for sent, name := range seen {
			if got := offered.Own(sent); got != name {
				t.Errorf("%q came back as %q, not as %q", sent, got, name)
			}
		}
		if got := offered.Own("never_sent"); got != "never_sent" {
			t.Errorf("a name that was never sent became %q", got)
		}
	}
	if wire.ToolName("readTextFile", 64) != "readTextFile" {
		t.Error("a good name changed")
	}
}

func TestIdentifier(t *testing.T) {
	for id, want := range map[string]string{
		"toolu_01-Ab": "toolu_01-Ab", "functions.read:0": "functions_2e_read_3a_0", "": "unnamed", "a b": "a_20_b", "abcdefgh": "abcdefgh",
		strings.Repeat("x", 300): strings.Repeat("x", 100),
	} {
		if got := wire.Identifier(id, 100); got != want {
			t.Errorf("%q became %q, want %q", id, got, want)
		}
	}
}

func TestObject(t *testing.T) {
	for args, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, ` {"a":1}`: ` {"a":1}`, ``: `{}`, `null`: `{}`, `"x"`: `{}`, `[1]`: `{}`, `{"a":`: `{}`, `{"a":1,"a":2}`: `{}`,
	} {
		if got := wire.Object([]byte(args)); string(got) != want {
			t.Errorf("%s became %s", args, got)
		}
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]wire.Count{"0": 0, "7": 7, "-1": 0, "4611686018427387904": 1 << 30, "null": 3} {
		got := wire.Count(3)
		if err := wire.Decode([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s became %d, %v", text, got, err)
		}
	}
	for _, text := range []string{`"7"`, "1.5", "{}", "1e30"} {
		var got wire.Count
		if wire.Decode([]byte(text), &got) == nil {
			t.Errorf("%s was taken for %d", text, got)
		}
	}
}
