package env

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseEnv(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                       {},
		"A=1":                    {"A": "1"},
		"\ufeffA=1\r\nB=2\r\n":   {"A": "1", "B": "2"},
		"A=1\rB=2":               {"A": "1", "B": "2"},
		"  export  A = 1  ":      {"A": "1"},
		"export=1\nexported=2":   {"export": "1", "exported": "2"},
		"export = 1":             {"export": "1"},
		"a.b-c_D9=x":             {"a.b-c_D9": "x"},
		"A: 1\nB:\t2\nC:":        {"A": "1", "B": "2", "C": ""},
		"A=\nB=2":                {"A": "", "B": "2"},
		"# c\n\n  # d\nA=1 # e":  {"A": "1"},
		"A=1#2":                  {"A": "1"},
		"A=#":                    {"A": ""},
		"A='1#2' # c":            {"A": "1#2"},
		"A=\"x\"#c":              {"A": "x"},
		`A="a\nb\r\tc\\n"`:       {"A": "a\nb\r\\tc\\\n"},
		`A='a\nb'`:               {"A": `a\nb`},
		"A=`it's \"so\"`":        {"A": `it's "so"`},
		`A="{\"k\":1}"`:          {"A": `{\"k\":1}`},
		`A='C:\dir\'`:            {"A": `C:\dir\`},
		"A=\"one\ntwo\"\nB=3":    {"A": "one\ntwo", "B": "3"},
		"A=\"one\r\ntwo\"":       {"A": "one\ntwo"},
		"A=$HOME ${B}\nB=\"$A\"": {"A": "$HOME ${B}", "B": "$A"},
		"A=don't":                {"A": "don't"},
		"A=1\nA=2":               {"A": "2"},
		"A=a=b==":                {"A": "a=b=="},
		"A=\u00a0x":              {"A": "x"},
		"A=''\nB=\"\"":           {"A": "", "B": ""},
		"A=\"  keep blanks  \"":  {"A": "  keep blanks  "},
		"A=no\\nescape":          {"A": `no\nescape`},
	} {
		list, err := parseEnv(".env", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := map[string]string{}
		for _, a := range list {
			got[a.name] = a.value
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got)\n%s", text, d)
		}
	}
}

func TestParseEnvErrors(t *testing.T) {
	for text, want := range map[string]string{
		"A=1\n\nsk-secret":         ".env:3: expected = after the name; write NAME=value",
		"A=1\n=secret":             ".env:2: expected NAME=value; comments start with #",
		"export A":                 ".env:1: expected = after the name; write NAME=value",
		"A:secret":                 ".env:1: expected = after the name; write NAME=value",
		"A='secret\nB=2\n":         ".env:1: the quote is never closed; close it, or write the value without quotes",
		"A=\"one\ntwo\" secret":    ".env:2: text after the closing quote; put the whole value in one kind of quotes",
		"B=\"x\ny\"\nA=se\x00cret": ".env:3: the value has a NUL character; remove it",
		"{\"secret\": 1}":          ".env:1: expected NAME=value; comments start with #",
	} {
		_, err := parseEnv(".env", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// A directory called ~ is not what anybody means by it.
func TestLoadEnvWithoutHome(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "~", "x.env"), "A=1\n")
	t.Chdir(dir)
	_, err := Load(nil, []File{{Path: "~/x.env", Explicit: true, NoHome: true}})
	const want = `cannot find env file "~/x.env": HOME is not set; set it, or write the whole path`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestLoadEnv(t *testing.T) {
	dir := t.TempDir()
	one := write(t, filepath.Join(dir, ".env"), "L=1\nB=one\nC=x\nE=1\nSAME=s\nH=ab#cd\n")
	two := write(t, filepath.Join(dir, ".env.local"), "L=3\nB=two\n\nC=\nSAME=s\n")
	env, err := Load(
		[]string{"L=p", "E=", "EQ=a=b", "=C:=x", "EMPTY="},
		[]File{{Path: one}, {Path: two}, {Path: filepath.Join(dir, "absent")}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"L", "B", "C", "E", "EQ", "EMPTY", "SAME", "H", "NONE"} {
		v, ok := env.vars().values[name]
		got[name] = fmt.Sprintf("%s %v %s", v.value, ok, strings.ReplaceAll(v.source, dir+"/", ""))
		if env.Get(name) != v.value {
			t.Errorf("Get(%s) = %q", name, env.Get(name))
		}
	}
	want := map[string]string{
		"L":     "p true ",               // the process wins
		"B":     "two true .env.local:2", // the later file wins
		"C":     " true .env.local:4",    // also with an empty value
		"E":     "1 true .env:4",         // empty in the process is absent
		"EQ":    "a=b true ",
		"EMPTY": " false ",
		"SAME":  "s true .env.local:5",
		"H":     "ab true .env:6",
		"NONE":  " false ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	notices := strings.ReplaceAll(strings.Join(env.Notices(), "\n"), dir+"/", "")
	wantNotices := strings.Join([]string{
		".env:6: H ends before the #; quote the value to keep the rest",
		".env.local:1: L replaces the value of .env:1",
		".env.local:2: B replaces the value of .env:2",
		".env.local:4: C replaces the value of .env:3",
	}, "\n")
	if d := cmp.Diff(wantNotices, notices); d != "" {
		t.Errorf("notices (-want +got)\n%s", d)
	}
}

// Every broken file is named, none is skipped in silence.
func TestLoadEnvErrors(t *testing.T) {
	dir := t.TempDir()
	bad := write(t, filepath.Join(dir, "bad"), "oops")
	big := write(t, filepath.Join(dir, "big"), strings.Repeat("#", maxFile+1))
	_, err := Load(nil, []File{{Path: filepath.Join(dir, "no"), Explicit: true}, {Path: bad}, {Path: dir}, {Path: big}})
	want := `env file "DIR/no" not found; create it, or correct its path
DIR/bad:1: expected = after the name; write NAME=value
cannot read env file "DIR": not a regular file
cannot read env file "DIR/big": larger than 1 MiB`
	if err == nil {
		t.Fatal("no error")
	}
	if d := cmp.Diff(want, strings.ReplaceAll(err.Error(), dir, "DIR")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestEnvNeverPrintsValues(t *testing.T) {
	env, err := Load([]string{"KEY=hunter2"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type holder struct{ inner Env }
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "env", env, "holder", holder{env})
	out := log.String() + env.String() + fmt.Sprintf("%#v", env)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		out += fmt.Sprintf(verb+verb+verb+verb, env, &env, holder{env}, []any{env, map[string]Env{"a": env}})
	}
	if strings.Contains(out, "hunter2") || strings.Contains(out, fmt.Sprintf("%x", "hunter2")) {
		t.Errorf("a value is printed:\n%s", out)
	}
	var zero Env
	if zero.Get("X") != "" || zero.File("X") != "" || zero.Notices() != nil || zero.String() != "environment of 0 variables" {
		t.Error("the zero Env is not empty")
	}
}

// What files say is listed even where something else won.
func TestEnvInFiles(t *testing.T) {
	dir := t.TempDir()
	one := write(t, filepath.Join(dir, ".env"), "A=1\nB=2\n")
	two := write(t, filepath.Join(dir, ".env.local"), "A=3\n")
	env, err := Load([]string{"B=process", "C=process"}, []File{{Path: one}, {Path: two}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name, value := range env.InFiles() {
		got = append(got, name+"="+value)
	}
	if diff := cmp.Diff([]string{"A=1", "B=2", "A=3"}, got); diff != "" {
		t.Error(diff)
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// FuzzParseEnv checks that no env file makes the parser panic or loop, that
// errors have a line and reveal nothing, and that values quoted by us survive.
func FuzzParseEnv(f *testing.F) {
	for _, s := range []string{"A=1", "export A='x'", "A=\"a\nb\" # c\nB: 2", "A=`", "\ufeff\r\n", "A=1#", "=", "A=\"\\\"", "A='$B'"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseEnv("F", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "F:") || strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("bad error %q", err)
			}
			return
		}
		limit := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		for _, a := range list {
			if a.name == "" || a.line < 1 || a.line > limit || strings.ContainsRune(a.value, 0) {
				t.Errorf("bad assignment %+v", a)
			}
			if strings.ContainsAny(a.value, "'\r") {
				continue
			}
			again, err := parseEnv("F", []byte(a.name+"='"+a.value+"'"))
			if err != nil || len(again) != 1 || again[0].value != a.value || again[0].name != a.name {
				t.Errorf("%q does not survive quoting: %+v, %v", a.value, again, err)
			}
		}
	})
}
