package replay

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
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
		{"an unknown key", "[[turn]]\ntext = \"a\"\ntxt = \"b\"", `demo.toml:3: unknown key "txt" in [turn]; known are expert, query, turn`},
		{"an unknown key of the file", "title = 1", `demo.toml:1: unknown key "title" in the file`},
		{"an unknown key of a call", "[[turn]]\n[[turn.call]]\nname = \"x\"", `demo.toml:3: unknown key "name" in [turn.call]`},
		{"an unknown key of an error", "[[turn]]\nerror = { nam = 1 }", `demo.toml:2: unknown key "nam" in [turn.error]`},
		{"an unknown key of usage", "[[turn]]\n\nusage.total = 1", `demo.toml:3: unknown key "total" in [turn.usage]`},
		{"an unknown key in a list", "turn = [\n{ text = \"a\" },\n{ txt = \"a\" } ]", `demo.toml:3: unknown key "txt"`},
		{"another letter case", "[[turn]]\nText = \"a\"", `demo.toml:2: unknown key "Text"`},
		{"another letter case in a header", "[[Turn]]\ntext = \"a\"", `demo.toml:1: unknown key "Turn"`},
		{"a wrong type", "[[turn]]\ntext = 5", "demo.toml:2: text must be a string, not an integer"},
		{"a wrong type inside", "[[turn]]\ntext = \"a\"\nusage = {\n  input = 1,\n  output = \"2\" }", "demo.toml:5: output must be an integer, not a string"},
		{"turns that are no tables", "turn = [1]", "demo.toml:1: each turn must be a table, not an integer"},
		{"calls that are no tables", "[[turn]]\ncall = [\"exec\"]", "demo.toml:2: each turn.call must be a table, not a string"},
		{"a number that does not fit", "[[turn]]\ntext = \"\"\nturn = 99999999999999999999", "demo.toml:3: decimal number is too large"},
		{"a table for the turns", "[turn]\ntext = \"a\"", "demo.toml:1: there may be several of turn; write [[turn]]"},
		{"an inline table for the turns", "turn = { text = \"a\" }", "demo.toml:1: there may be several of turn"},
		{"a dotted key for the turns", "turn.text = \"a\"", "demo.toml"},
		{"a table for the calls", "[[turn]]\n[turn.call]\ntool = \"a\"", "demo.toml:2: there may be several of turn.call; write [[turn.call]]"},
		{"an inline table for the calls", "[[turn]]\ncall = { tool = \"a\" }", "demo.toml:2: there may be several of turn.call"},
		{"a dotted key for the calls", "[[turn]]\ncall.tool = \"a\"", "demo.toml"},
		{"several errors", "[[turn]]\n[[turn.error]]\nname = \"a\"", "demo.toml:2: error must be a table, not an array"},
		{"several args", "[[turn]]\n[[turn.call]]\ntool = \"a\"\n[[turn.call.args]]\na = 1", "demo.toml:4: args must be a table, not an array"},
		{"a dotted key for a text", "[[turn]]\ntext.x = \"a\"", "demo.toml:2: text must be a string, not a table"},
		{"a table for a text", "[[turn]]\n[turn.text]\nx = 1", "demo.toml:2: text must be a string, not a table"},
		{"a table below a text", "[[turn]]\n[turn.text.x]\ny = 1", "demo.toml:2: text must be a string, not a table"},
		{"several texts", "[[turn]]\n[[turn.text]]\nx = 1", "demo.toml:2: text must be a string, not an array"},
		{"an empty turn", "[[turn]]\ntext = \"a\"\n[[turn]]\nturn = 2", "the [[turn]] in line 3: it answers nothing"},
		{"an empty turn in a list", `turn = [{ text = "a" }, {}]`, "the [[turn]] in line 1: it answers nothing"},
		{"turn 0", "[[turn]]\nturn = 0\ntext = \"\"", "turn is 0; counting starts at 1"},
		{"attempt -1", "[[turn]]\nattempt = -1\ntext = \"\"", "attempt is -1"},
		{"an empty query", "[[turn]]\nquery = \"\"\ntext = \"\"", "query is empty"},
		{"a query behind all queries", "[[turn]]\nexpert = \"w\"\ntext = \"\"\n[[turn]]\nexpert = \"w\"\nquery = \"a\"\ntext = \"\"", "line 4 is never reached, since the [[turn]] in line 1"},
		{"an empty expert", "[[turn]]\nexpert = \"\"\ntext = \"\"", "expert is empty"},
		{"an empty contains", "[[turn]]\ncontains = \"\"\ntext = \"\"", "contains is empty"},
		{"an unknown finish", "[[turn]]\ntext = \"\"\nfinish = \"tool_calls\"", `unknown finish "tool_calls"; use stop`},
		{"a delay without a unit", "[[turn]]\ntext = \"\"\ndelay = \"20\"", `delay is "20"; write a time like 20ms`},
		{"a negative delay", "[[turn]]\ntext = \"\"\ndelay = \"-1s\"", "delay is"},
		{"usage of an error at once", "[[turn]]\nusage = { input = 1 }\n[turn.error]\nname = \"E\"", "an error that comes at once costs nothing"},
		{"negative usage", "[[turn]]\ntext = \"\"\nusage = { input = -1 }", "usage has -1 tokens"},
		{"a call without a tool", "[[turn]]\n[[turn.call]]\ntool = \"a\"\n[[turn.call]]\nid = \"x\"", "call number 2 has no tool"},
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
		{"too deep", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs" + strings.Repeat(".a", 100) + " = 1", "nested more than 32 deep"},
		{"lists too deep", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs.a = " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested more than 32 deep"},
		{"too many arguments", "[[turn]]\n[[turn.call]]\ntool = \"a\"\n[turn.call.args]\n" + manyKeys(5000), "a table has more than 1024 keys"},
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

type field struct{ name, holds string }

const (
	aString   = "a string"
	anInteger = "an integer"
	aBoolean  = "a boolean"
	aTable    = "a table"
	aList     = "an array" // of tables
)

// The keys of each table, and what they hold.
var known = map[string][]field{
	"": {{"turn", aList}},
	"turn": {
		{"expert", aString}, {"query", aString}, {"turn", anInteger}, {"attempt", anInteger}, {"contains", aString},
		{"reasoning", aString}, {"text", aString}, {"finish", aString}, {"delay", aString},
		{"usage", aTable}, {"call", aList}, {"error", aTable},
	},
	"turn.call":  {{"id", aString}, {"tool", aString}, {"args", aTable}, {"argsText", aString}},
	"turn.error": {{"name", aString}, {"status", anInteger}, {"message", aString}, {"retryable", aBoolean}, {"retryAfter", aString}, {"after", aString}},
	"turn.usage": {{"input", anInteger}, {"output", anInteger}, {"reasoning", anInteger}, {"cached", anInteger}},
}

// Whatever kind of value stands at a key, the message is about the file and not about
// our structs.
func TestParseRefusesWrongKinds(t *testing.T) {
	values := map[string]string{
		aString: `"a"`, anInteger: "7", "a floating-point number": "7.5", aBoolean: "true",
		"a date or time": "2026-01-02", aList: "[]", aTable: "{ }",
	}
	for table, fields := range known {
		for _, f := range fields {
			for kind, value := range values {
				if kind == f.holds || f.holds == aList && kind == aTable {
					continue // that one has a message of its own
				}
				head := map[string]string{"": "\n", "turn": "[[turn]]\n", "turn.call": "[[turn]]\n[[turn.call]]\n"}[table]
				if head == "" {
					head = "[[turn]]\n[" + table + "]\n"
				}
				want := fmt.Sprintf("demo.toml:%d: %s must be %s, not %s", strings.Count(head, "\n")+1, f.name, f.holds, kind)
				if _, err := Parse("demo.toml", []byte(head+f.name+" = "+value)); err == nil || err.Error() != want {
					t.Errorf("%s%s = %s\ngot  %v\nwant %s", head, f.name, value, err, want)
				}
			}
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if c, err := Load(file("good.toml", "[[turn]]\ntext = \"a\"")); err != nil || len(c.turns) != 1 {
		t.Errorf("%v, %v", c, err)
	}
	tests := map[string]string{
		file("bad.toml", "[[turn]]\ntext = 5"):             "DIR/bad.toml:2: text must be a string, not an integer",
		file("large.toml", strings.Repeat("#", MaxSize+1)): `cannot read the cassette "DIR/large.toml": larger than 8 MiB`,
		filepath.Join(dir, "gone.toml"):                    `cannot read the cassette "DIR/gone.toml": no such file or directory`,
		dir:                                                `cannot read the cassette "DIR": not a regular file`,
	}
	if pipe := filepath.Join(dir, "pipe.toml"); mkfifo(t, pipe) {
		tests[pipe] = `cannot read the cassette "DIR/pipe.toml": not a regular file`
	}
	for path, want := range tests {
		done := make(chan error, 1)
		go func() { _, err := Load(path); done <- err }()
		select {
		case err := <-done:
			if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: still waiting", path)
		}
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
			if got := string(c.turns[0].parts[0].Args); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Every example of the documentation is a cassette.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile("../../../docs/cassettes.md")
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
	for table, fields := range known {
		for _, f := range fields {
			if table != "" && !bytes.Contains(data, []byte(f.name)) {
				t.Errorf("key %s of [%s] is not explained", f.name, table)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("../../../docs/cassettes.md")
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
			if c.turns[i].rules != again.turns[i].rules || len(c.turns[i].parts) != len(again.turns[i].parts) {
				t.Fatal("read differently")
			}
			for j := range c.turns[i].parts {
				if !bytes.Equal(c.turns[i].parts[j].Args, again.turns[i].parts[j].Args) {
					t.Fatal("arguments encoded differently")
				}
			}
		}
	})
}
