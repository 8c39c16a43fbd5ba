package protect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestParseConfig(t *testing.T) {
	for text, want := range map[string]gitConfig{
		"[core]\n\thooksPath = .githooks\n":                         {hooks: []string{".githooks"}},
		"[CORE]\nHooksPath=\"a b\" # comment\n":                     {hooks: []string{"a b"}},
		"[core] hookspath = a\\\\b ; comment\r\n":                   {hooks: []string{`a\b`}},
		"[includeIf \"gitdir:x]=y\"]\n path = ../x\n":               {includes: []string{"../x"}},
		"[core]\nhooksPath = a\\\nb\n":                              {hooks: []string{"ab"}},
		"[core]\nhooksPath = ~/hooks\nhooksPath =\nfsmonitor = x\n": {},
	} {
		if got := parseConfig(text); !slices.Equal(got.hooks, want.hooks) || !slices.Equal(got.includes, want.includes) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// A value that git would use is found, whatever stands around it.
func FuzzParseConfig(f *testing.F) {
	f.Add("[core]\n\tbare = false\n", ".githooks")
	f.Add("[a \"b\"]\nc = \"d\n", "x y")
	f.Add("", "\\")
	f.Fuzz(func(t *testing.T, before, value string) {
		named := parseConfig(before)
		if n := len(named.hooks) + len(named.includes); n > maxNamed {
			t.Errorf("%d are taken from one file", n)
		}
		if value == "" || value[0] == '~' || strings.ContainsAny(value, "\x00\r\n\t\b") || len(named.hooks)+len(named.includes) == maxNamed || strings.HasSuffix(before, "\\") {
			return
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
		got := parseConfig(before + "\n[core]\n\thooksPath = " + quoted + "\n")
		if !slices.Contains(got.hooks, value) {
			t.Errorf("%s is not found: %+v", strconv.Quote(value), got)
		}
	})
}

// A record that can be read is written the same again.
func FuzzRecord(f *testing.F) {
	r := record{Job: "job", Workspace: "/ws", Owner: "x", Started: 1, Trusted: []string{"/ws/\xff"}, Marks: []Mark{{Path: "/ws/.env", Change: Changed}}}
	r.Before.Files = map[string]File{"/ws/.env": {Kind: Regular, Links: []string{`"a"`}, Sum: "00"}}
	data, err := r.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":2,"workspace":"hex:2f","closed":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if err != nil {
			return
		}
		first, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(first)
		if err != nil {
			t.Fatalf("%v in %s", err, first)
		}
		if second, err := again.encode(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s became %s, %v", first, second, err)
		}
		_, _, _ = r.markOn(newTarget("/ws/.env"))
	})
}
