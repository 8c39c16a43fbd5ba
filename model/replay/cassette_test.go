package replay

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

func mustParse(t testing.TB, text string) *Cassette {
	t.Helper()
	c, err := Parse("demo.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     string // part of the error
	}{
		{"nothing", "", "no answers"},
		{"a syntax error", "[[turn]]\ntext = \n", "demo.toml:2:"},
		{"a key given twice", "[[turn]]\ntext = \"a\"\ntext = \"b\"\n", "demo.toml:3:"},
		{"an unknown key", "[[turn]]\ntext = \"a\"\ntxt = \"b\"", `demo.toml:3: unknown key "txt" in [turn]; known are expert, turn`},
		{"an unknown key of the file", "title = 1", `demo.toml:1: unknown key "title" in the file`},
		{"an unknown key of a call", "[[turn]]\n[[turn.call]]\nname = \"x\"", `demo.toml:3: unknown key "name" in [turn.call]`},
		{"an unknown key of an error", "[[turn]]\nerror = { nam = 1 }", `demo.toml:2: unknown key "nam" in [turn.error]`},
		{"an unknown key of usage", "[[turn]]\n\nusage.total = 1", `demo.toml:3: unknown key "total" in [turn.usage]`},
		{"an unknown key in a list", "turn = [\n{ text = \"a\" },\n{ txt = \"a\" } ]", `demo.toml:3: unknown key "txt"`},
		{"another letter case", "[[turn]]\nText = \"a\"", `demo.toml:2: unknown key "Text"`},
		{"another letter case in a header", "[[Turn]]\ntext = \"a\"", `demo.toml:1: unknown key "Turn"`},
		{"a wrong type", "[[turn]]\ntext = 1", "demo.toml:2:"},
		{"a table for the turns", "[turn]\ntext = \"a\"", "demo.toml:1: there may be several of turn; write [[turn]]"},
		{"an inline table for the turns", "turn = { text = \"a\" }", "demo.toml:1: there may be several of turn"},
		{"a dotted key for the turns", "turn.text = \"a\"", "demo.toml"},
		{"a table for the calls", "[[turn]]\n[turn.call]\ntool = \"a\"", "demo.toml:2: there may be several of turn.call; write [[turn.call]]"},
		{"an inline table for the calls", "[[turn]]\ncall = { tool = \"a\" }", "demo.toml:2: there may be several of turn.call"},
		{"a dotted key for the calls", "[[turn]]\ncall.tool = \"a\"", "demo.toml"},
		{"several errors", "[[turn]]\n[[turn.error]]\nname = \"a\"", "demo.toml"},
		{"several args", "[[turn]]\n[[turn.call]]\ntool = \"a\"\n[[turn.call.args]]\na = 1", "demo.toml"},
		{"a table for a text", "[[turn]]\ntext.x = \"a\"", "demo.toml"},
		{"an empty turn", "[[turn]]\ntext = \"a\"\n[[turn]]\nturn = 2", "the [[turn]] in line 3: it answers nothing"},
		{"an empty turn in a list", `turn = [{ text = "a" }, {}]`, "the 2nd [[turn]]: it answers nothing"},
		{"turn 0", "[[turn]]\nturn = 0\ntext = \"\"", "turn is 0; counting starts at 1"},
		{"attempt -1", "[[turn]]\nattempt = -1\ntext = \"\"", "attempt is -1"},
		{"an empty expert", "[[turn]]\nexpert = \"\"\ntext = \"\"", "expert is empty"},
		{"an empty contains", "[[turn]]\ncontains = \"\"\ntext = \"\"", "contains is empty"},
		{"an unknown finish", "[[turn]]\ntext = \"\"\nfinish = \"tool_calls\"", `unknown finish "tool_calls"; use stop`},
		{"a delay without a unit", "[[turn]]\ntext = \"\"\ndelay = \"20\"", `delay is "20"; write a time like 20ms`},
		{"a negative delay", "[[turn]]\ntext = \"\"\ndelay = \"-1s\"", "delay is"},
		{"negative usage", "[[turn]]\ntext = \"\"\nusage = { input = -1 }", "usage has -1 tokens"},
		{"a call without a tool", "[[turn]]\n[[turn.call]]\ntool = \"a\"\n[[turn.call]]\nid = \"x\"", "the 2nd call has no tool"},
		{"an empty id", "[[turn]]\n[[turn.call]]\nid = \"\"\ntool = \"a\"", "empty id"},
		{"two calls of one id", "[[turn]]\n[[turn.call]]\nid = \"x\"\ntool = \"a\"\n[[turn.call]]\nid = \"x\"\ntool = \"a\"", `two calls have the id "x"`},
		{"args twice", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs = {}\nargsText = \"\"", "has args and argsText"},
		{"a date", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs = { a = [1, { when = 2026-01-02 }] }", "args.a[1].when is a TOML date or time, which JSON does not have; write it in quotes"},
		{"a time", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs = { when = 07:32:00 }", "args.when is a TOML date or time"},
		{"a moment", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs = { when = 1979-05-27T07:32:00Z }", "args.when is a TOML date or time"},
		{"infinity", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs = { n = -inf }", "args.n is -Inf"},
		{"an error without a name", "[[turn]]\n[turn.error]\nstatus = 500", "the error has no name"},
		{"an error beside an answer", "[[turn]]\ntext = \"a\"\n[turn.error]\nname = \"E\"", `set after = "text"`},
		{"an error beside reasoning", "[[turn]]\nreasoning = \"a\"\n[turn.error]\nname = \"E\"", `set after = "text"`},
		{"an error after reasoning, with text", "[[turn]]\nreasoning = \"a\"\ntext = \"b\"\n[turn.error]\nname = \"E\"\nafter = \"reasoning\"", `set after = "text"`},
		{"an error beside a call", "[[turn]]\n[turn.error]\nname = \"E\"\n[[turn.call]]\ntool = \"a\"", "remove call"},
		{"an error after nothing", "[[turn]]\n[turn.error]\nname = \"E\"\nafter = \"text\"", "after the text, but there is none"},
		{"an error after no reasoning", "[[turn]]\n[turn.error]\nname = \"E\"\nafter = \"reasoning\"", "after the reasoning, but there is none"},
		{"an error after something else", "[[turn]]\n[turn.error]\nname = \"E\"\nafter = \"calls\"", `after is "calls"`},
		{"a bad retryAfter", "[[turn]]\n[turn.error]\nname = \"E\"\nretryAfter = \"soon\"", `retryAfter is "soon"`},
		{"a turn that is never reached", "[[turn]]\ntext = \"a\"\n[[turn]]\nturn = 1\ntext = \"b\"", "the [[turn]] in line 3 is never reached, since the [[turn]] in line 1 answers first"},
		{"an expert behind everybody", "[[turn]]\ntext = \"a\"\n[[turn]]\nexpert = \"w\"\ntext = \"b\"", "never reached"},
		{"a longer text behind a shorter", "[[turn]]\ncontains = \"a\"\ntext = \"a\"\n[[turn]]\nturn = 2\ncontains = \"cab\"\ntext = \"b\"", "never reached"},
		{"too deep", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs" + strings.Repeat(".a", 100) + " = 1", "nested more than 64 deep"},
		{"lists too deep", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs.a = " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested more than 64 deep"},
		{"too many arguments", "[[turn]]\n[[turn.call]]\ntool = \"a\"\n[turn.call.args]\n" + manyKeys(5000), "more than 4096 names"},
		{"too many turns", strings.Repeat("[[turn]]\ntext=\"\"\n", 10_001), "may have 10000 turns, this one has 10001"},
		{"too many bytes", strings.Repeat("#", MaxSize+1), "may have 8388608 bytes"},
		{"bad UTF-8", "[[turn]]\ntext = \"\xff\"", "demo.toml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("demo.toml", []byte(tt.in))
			if err == nil {
				t.Fatal("it was accepted")
			}
			if !strings.HasPrefix(err.Error(), "demo.toml:") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want something with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d = 1\n", i)
	}
	return b.String()
}

func TestArguments(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"none", "", `{}`},
		{"empty", "args = {}", `{}`},
		{"in order", `args = { b = 1, a = "x", C = true }`, `{"C":true,"a":"x","b":1}`},
		{"numbers", `args = { i = 9007199254740993, h = 0xff, n = -0.5, f = 1e3 }`, `{"f":1000,"h":255,"i":9007199254740993,"n":-0.5}`},
		{"nested", `args = { list = [1, "a", [], { z = 1, y = 2 }], "odd key" = { d.e = 1 } }`, `{"list":[1,"a",[],{"y":2,"z":1}],"odd key":{"d":{"e":1}}}`},
		{"a table of its own", "[turn.call.args]\npath = \"x\"\n[[turn.call.args.edits]]\nto = 1\n[[turn.call.args.edits]]\nto = 2", `{"edits":[{"to":1},{"to":2}],"path":"x"}`},
		{"text as it is", `argsText = ' {"a": 1, "a": '`, ` {"a": 1, "a": `},
		{"empty text", `argsText = ''`, ``},
		{"characters", `args = { s = "\u001b\" \u2028é" }`, "{\"s\":\"\\u001b\\\" \u2028é\"}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustParse(t, "[[turn]]\n[[turn.call]]\ntool = \"a\"\n"+tt.in)
			if got := string(c.turns[0].calls[0].args); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Every example of the documentation is a cassette.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile("../../docs/cassettes.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllSubmatch(data, -1)
	if len(blocks) < 5 {
		t.Fatalf("found %d examples", len(blocks))
	}
	for _, block := range blocks {
		line := 1 + bytes.Count(data[:bytes.Index(data, block[1])], []byte("\n"))
		if _, err := Parse(fmt.Sprintf("example at line %d", line), block[1]); err != nil {
			t.Error(err)
		}
	}
	for table, keys := range known {
		for _, key := range keys {
			if table != "" && !bytes.Contains(data, []byte(key)) {
				t.Errorf("key %s of [%s] is not explained", key, table)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("../../docs/cassettes.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllSubmatch(data, -1) {
		f.Add(block[1])
	}
	f.Add([]byte("turn = [{ text = \"a\" }, { turn = 3, error = { name = \"E\" } }]"))
	f.Add([]byte("[[turn]]\nTEXT.a.'b' = [[[{}]]]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("fuzz", data)
		if err != nil {
			if strings.Contains(err.Error(), "<nil>") || err.Error() == "" {
				t.Errorf("poor error %q", err)
			}
			return
		}
		again, err := Parse("fuzz", data)
		if err != nil {
			t.Fatal("accepted once, refused twice:", err)
		}
		for i := range c.turns {
			if c.turns[i].rules != again.turns[i].rules || len(c.turns[i].calls) != len(again.turns[i].calls) {
				t.Fatal("read differently")
			}
			for j := range c.turns[i].calls {
				if !bytes.Equal(c.turns[i].calls[j].args, again.turns[i].calls[j].args) {
					t.Fatal("arguments encoded differently")
				}
			}
		}
	})
}
