package script

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
)

func mustParse(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse("demo.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     string // part of the error
	}{
		{"nothing", "", "no answers"},
		{"an empty key", "key = \"\"\n[[turn]]\ntext = \"\"", "key is empty"},
		{"a syntax error", "[[turn]]\ntext = \n", "demo.toml:2:"},
		{"an unknown key", "[[turn]]\ntext = \"a\"\ntxt = \"b\"", `demo.toml:3: unknown key "turn.txt"`},
		{"a wrong type", "[[turn]]\ntext = 5", "demo.toml:2:"},
		{"an empty turn", "[[turn]]\nturn = 1", "it answers nothing"},
		{"turn 0", "[[turn]]\nturn = 0\ntext = \"\"", "counting starts at 1"},
		{"attempt -1", "[[turn]]\nattempt = -1\ntext = \"\"", "counting starts at 1"},
		{"an empty rule", "[[turn]]\nsystem = \"\"\ntext = \"\"", "system is empty"},
		{"an empty query", "[[turn]]\nquery = \"\"\ntext = \"\"", "query is empty"},
		{"a query behind all queries", "[[turn]]\ntext = \"\"\n[[turn]]\nquery = \"a\"\ntext = \"\"", "number 2 is never reached, since [[turn]] number 1"},
		{"an unreachable turn", "[[turn]]\nturn = 1\ntext = \"\"\n[[turn]]\nturn = 1\ncontains = \"a\"\ntext = \"\"", "number 2 is never reached, since [[turn]] number 1"},
		{"a bad pause", "[[turn]]\ntext = \"\"\ndelay = \"20\"", `delay is "20"`},
		{"a long pause", "[[turn]]\ntext = \"\"\neventDelay = \"1h\"", `eventDelay is "1h"`},
		{"negative usage", "[[turn]]\ntext = \"\"\nusage.input = -1", "usage has -1"},
		{"a call without a tool", "[[turn]]\n[[turn.call]]\nid = \"a\"", "has no tool"},
		{"two kinds of arguments", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs = {}\nargsText = \"\"", "one of args, argsText and depth"},
		{"arguments that are no JSON", "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs = { a = inf }", "the call of a"},
		{"an error without a status", "[[turn]]\n[turn.error]\ntype = \"a\"", "no status"},
		{"an error with a good status", "[[turn]]\n[turn.error]\nstatus = 200", "status 200"},
		{"two lines in a header", "[[turn]]\n[turn.error]\nstatus = 429\nretryAfter = \"1\\r\\nX: y\"", "one line"},
		{"an error and an answer", "[[turn]]\ntext = \"\"\n[turn.error]\nstatus = 500", "the place of an answer"},
		{"a status inside the stream", "[[turn]]\ntext = \"\"\nerrorAfter = 1\n[turn.error]\nstatus = 500", "that was 200"},
		{"headers inside the stream", "[[turn]]\ntext = \"\"\nerrorAfter = 1\n[turn.error]\nretryAfter = \"1\"", "no headers"},
		{"two ends", "[[turn]]\ntext = \"\"\nerrorAfter = 1\ncutAfter = 1", "more than one way"},
		{"cutInside alone", "[[turn]]\ntext = \"\"\ncutInside = true", "needs cutAfter"},
		{"a signature of no thought before a call", "[[turn]]\n[[turn.call]]\ntool = \"t\"\nsignature = \"a\"", "the call of t: it has a signature but no reasoning"},
		{"two reasons of the end", "[[turn]]\ntext = \"\"\nstop = \"a\"\nlength = true", "a stop and a length"},
		{"hosted that is no JSON", "[[turn]]\nhosted = ['{}', '{']", "hosted number 2 is no object"},
		{"hosted that is a list", "[[turn]]\nhosted = ['[]']", "hosted number 1 is no object"},
		{"an unknown kind", "[[turn]]\n[turn.error]\nkind = \"bad\"", `unknown kind of error "bad"; use one of authentication, billing`},
		{"a kind and a status", "[[turn]]\n[turn.error]\nkind = \"internal\"\nstatus = 500", "keep one"},
		{"a signature of nothing", "[[turn]]\ntext = \"\"\nsignature = \"a\"", "no reasoning"},
		{"an unknown body", "[[turn]]\nraw = \"soup\"", `unknown raw "soup"; use one of garbage, html`},
		{"a size of nothing", "[[turn]]\nraw = \"html\"\nmib = 1", "mib is 1"},
		{"too large", "[[turn]]\nraw = \"endless\"\nmib = 5000", "mib is 5000"},
		{"too deep", "[[turn]]\nraw = \"deep\"\ndepth = 2000000", "depth is 2000000"},
		{"an endless error", "[[turn]]\nraw = \"endless\"\nerror.status = 500", "began well"},
		{"a redirect that is none", "[[turn]]\nredirect = \"/\"\nerror.status = 500", "redirect has the status 500"},
		{"deep values", "[[turn]]\ntext = " + strings.Repeat("[", 20_000), "10000 levels"},
		{"deep keys", "[[turn]]\ntext" + strings.Repeat(".a", 20_000) + " = 1", "20000 dots"},
		{"too many bytes", strings.Repeat("#", MaxSize+1), "may have 1048576 bytes"},
		{"too many turns", strings.Repeat("[[turn]]\ntext=\"\"\n", maxTurns+1), "may have 2000 turns"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("demo.toml", []byte(tt.in))
			if err == nil || !strings.HasPrefix(err.Error(), "demo.toml:") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something with %q", err, tt.want)
			}
		})
	}
}

// example is the script in the package comment.
func example(t testing.TB) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	text := file.Doc.Text()
	start, end := strings.Index(text, "\t[[turn]]"), strings.Index(text, "# Which answer")
	return text[start:end]
}

func TestDocumentation(t *testing.T) {
	s := mustParse(t, example(t))
	want := []turns.Rules{{Turn: 1}, {Turn: 2, Attempt: 1}, {Turn: 2}}
	for i, a := range s.answers {
		if a.rules != want[i] {
			t.Errorf("%d: %+v", i, a.rules)
		}
	}
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range RawModes() {
		if !strings.Contains(string(data), " "+string(mode)+" ") {
			t.Errorf("%s is not explained", mode)
		}
	}
	for kind := range kinds {
		if !strings.Contains(string(data), " "+kind) {
			t.Errorf("%s is not explained", kind)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example(f)))
	f.Add([]byte("key = \"k\"\n[[turn]]\nraw = \"deep\"\ndepth = 3\n[[turn]]\nredirect = \"/\""))
	f.Add([]byte("turn = [{ text = \"a b\", cutAfter = 2 }, { call = [{ tool = \"t\", args = { a = [1] } }] }]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("fuzz", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz:") {
				t.Errorf("poor error %q", err)
			}
			return
		}
		for i := range s.answers {
			a := &s.answers[i]
			if n, err := a.Last(1000); err == nil && (n < 0 || n > 1000) {
				t.Errorf("%d of 1000 events", n)
			}
			if within := a.Within(1); within.Usage.Output > 1 {
				t.Errorf("%d tokens of 1", within.Usage.Output)
			}
		}
	})
}
