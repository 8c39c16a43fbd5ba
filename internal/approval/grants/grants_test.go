package grants

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/rawjson"
)

func exec(words ...string) Call {
	args, err := json.Marshal(map[string]any{"command": words[0], "args": words[1:]})
	if err != nil {
		panic(err) // words are valid texts
	}
	return Call{Expert: "dev", Skill: "@perstack/base", Tool: "exec", Args: args, Command: words, Digest: func() string { return "now" }}
}

func with(c Call, change func(*Call)) Call {
	change(&c)
	return c
}

func TestCovers(t *testing.T) {
	push := exec("git", "push", "origin")
	script := with(exec("./deploy.sh", "now"), func(c *Call) { c.Opaque = true })
	grant := func(c Call, wide bool) Grant {
		t.Helper()
		g, ok := New(c, wide)
		if !ok {
			t.Fatalf("%v cannot be granted", c.Command)
		}
		return g
	}
	host := with(push, func(c *Call) { c.Host = "a.example.com:443" })
	path := with(push, func(c *Call) { c.Path = "/srv/data" })
	for name, c := range map[string]struct {
		grant Grant
		call  Call
		want  bool
	}{
		"a host":                   {grant(host, false), host, true},
		"a host, another call":     {grant(host, false), with(exec("curl"), func(c *Call) { c.Host = host.Host }), true},
		"another host":             {grant(host, false), with(host, func(c *Call) { c.Host = "b.example.com:443" }), false},
		"another port":             {grant(host, false), with(host, func(c *Call) { c.Host = "a.example.com:80" }), false},
		"a host, another skill":    {grant(host, false), with(host, func(c *Call) { c.Skill = "web" }), false},
		"a host, another Expert":   {grant(host, false), with(host, func(c *Call) { c.Expert = "delegate" }), false},
		"a host is no call":        {grant(host, false), push, false},
		"a call is no host":        {grant(push, false), host, false},
		"a wide call is no host":   {grant(push, true), host, false},
		"a path":                   {grant(path, false), path, true},
		"a path is no host":        {grant(path, false), host, false},
		"a path below":             {grant(path, false), with(path, func(c *Call) { c.Path = "/srv/data/x" }), false},
		"the same call":            {grant(push, false), push, true},
		"written in another way":   {grant(push, false), with(push, func(c *Call) { c.Args = rawjson.Value(`{ "args": ["push","origin"], "command": "\u0067it" }`) }), true},
		"other arguments":          {grant(push, false), exec("git", "push", "upstream"), false},
		"another Expert":           {grant(push, false), with(push, func(c *Call) { c.Expert = "delegate" }), false},
		"another skill":            {grant(push, false), with(push, func(c *Call) { c.Skill = "web" }), false},
		"another tool":             {grant(push, false), with(push, func(c *Call) { c.Tool = "editTextFile" }), false},
		"broken arguments":         {grant(push, false), with(push, func(c *Call) { c.Args = rawjson.Value(`{`) }), false},
		"wide":                     {grant(push, true), exec("git", "push", "upstream", "--force"), true},
		"wide, no more words":      {grant(push, true), exec("git", "push"), true},
		"wide, another subcommand": {grant(push, true), exec("git", "fetch", "origin"), false},
		"wide, an option between":  {grant(push, true), exec("git", "-C", "push", "push"), false},
		"wide, another program":    {grant(push, true), exec("./git", "push", "origin"), false},
		"wide, another Expert":     {grant(push, true), with(push, func(c *Call) { c.Expert = "delegate" }), false},
		"wide, with variables":     {grant(push, true), with(push, func(c *Call) { c.Env = []string{"GIT_SSH_COMMAND"} }), false},
		"wide, in the workspace":   {grant(push, true), with(push, func(c *Call) { c.Opaque = true }), false},
		"opaque":                   {grant(script, false), script, true},
		"opaque, changed":          {grant(script, false), with(script, func(c *Call) { c.Digest = func() string { return "later" } }), false},
		"became opaque":            {grant(with(script, func(c *Call) { c.Opaque = false }), false), script, false},
	} {
		other := grant(exec("other", "call"), false)
		if got, ok := Covers([]Grant{other, c.grant}, c.call); ok != c.want || ok && !cmp.Equal(got, c.grant) {
			t.Errorf("%s: %+v, %t", name, got, ok)
		}
	}
}

// Nothing wider is offered where it would allow more than it says.
func TestWider(t *testing.T) {
	for _, c := range []Call{
		exec("git"), exec("git", "-C", "x"), exec("rm", "/tmp/x"), exec("cat", "../x"), exec("./git", "push"), exec("/usr/bin/git", "push"), exec("g*", "push"), exec("git", "**"), exec("git", "Push"),
		with(exec("make", "test"), func(c *Call) { c.Opaque = true }), with(exec("git", "push"), func(c *Call) { c.Env = []string{"A"} }), {Tool: "editTextFile"},
	} {
		if words, ok := Wider(c); ok {
			t.Errorf("%v: %v", c.Command, words)
		}
		if g, ok := New(c, true); ok {
			t.Errorf("%v: %v", c.Command, g)
		}
	}
}

func TestFile(t *testing.T) {
	f := File{filepath.Join(t.TempDir(), "a", FileName)}
	if all, err := f.Load(); err != nil || all != nil {
		t.Errorf("no file: %v, %v", all, err)
	}
	if found, err := f.Revoke(t.Context(), "x"); found || err != nil {
		t.Errorf("no file: %t, %v", found, err)
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	var added []Grant
	for _, c := range []Call{exec("git", "push", "a\x00\u202e'''\""), exec("git", "commit")} {
		for _, wide := range []bool{false, true} {
			g, _ := New(c, wide)
			g.When, g.Job = when, "job1"
			stored, err := f.Add(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			again, err := f.Add(t.Context(), g)
			if err != nil || again.ID != stored.ID {
				t.Errorf("added twice: %v, %v", again, err)
			}
			added = append(added, stored)
		}
	}
	all, err := f.Load()
	if diff := cmp.Diff(added, all); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if info, err := os.Stat(f.Path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if found, err := f.Revoke(t.Context(), added[1].ID); !found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
	if found, err := f.Revoke(t.Context(), added[1].ID); found || err != nil {
		t.Errorf("twice: %t, %v", found, err)
	}
	if all, err := f.Load(); err != nil || len(all) != 3 || slices.ContainsFunc(all, func(g Grant) bool { return g.ID == added[1].ID }) {
		t.Errorf("%v, %v", all, err)
	}
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	if err := os.Chmod(f.Path, 0o622); err != nil {
		t.Fatal(err)
	}
	if all, err := f.Load(); err == nil || len(all) > 0 {
		t.Errorf("others can write to it: %v, %v", all, err)
	}
	if _, err := f.Add(t.Context(), added[0]); err == nil {
		t.Error("others can write to it")
	}
}

// Of many that add at once, none loses what another adds.
func TestAddAtOnce(t *testing.T) {
	f := File{filepath.Join(t.TempDir(), FileName)}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			g, _ := New(exec("git", "push", fmt.Sprint(i)), false)
			if _, err := f.Add(t.Context(), g); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if stored, err := f.Load(); err != nil || len(stored) != 16 {
		t.Errorf("%d, %v", len(stored), err)
	}
}

func TestWrongFiles(t *testing.T) {
	good := "id = 'a'\nexpert = 'e'\nskill = 's'\ntool = 't'\njob = 'j'\nwhen = '2026-01-02T03:04:05Z'\n"
	for text, want := range map[string]string{
		"[[grants]]\n" + good: "it needs args or command, and not both",
		"[[grants]]\n" + good + "args = '{}'\ncommand = ['a','b','**']": "it needs args or command, and not both",
		"[[grants]]\n" + good + "args = '{ }'":                          "args is not canonical JSON",
		"[[grants]]\n" + good + "args = '{}'\nallow = true":             "unknown key",
		"[[grants]]\n" + good + "command = ['*', 'push', '**']":         "command is not a program, its subcommand and **",
		"[[grants]]\n" + good + "command = ['git', '**', '**']":         "command is not a program, its subcommand and **",
		"[[grants]]\n" + good + "command = ['git', 'push']":             "command is not a program, its subcommand and **",
		"[[grants]]\n" + good + "command = ['git', 'push', 'x', '**']":  "has 4 entries; at most 3 are allowed",
		"[[grants]]\nargs = '{}'\nwhen = '2026-01-02T03:04:05Z'":        "it needs id, expert and tool",
		"[[grants]]\nargs = '{}'":                                       "is not a grant",
		"grants = 1":                                                    "must be an array",
		"x = 1":                                                         "unknown key",
	} {
		f := File{filepath.Join(t.TempDir(), FileName)}
		if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := f.Load(); err == nil || all != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, all, err, want)
		}
	}
}

// FuzzParse checks that no file makes the parser panic, that what it accepts is written and read again
// as the same, and that no grant covers a call of another Expert.
func FuzzParse(f *testing.F) {
	g, _ := New(exec("git", "push", "origin"), false)
	g.ID, g.Job = "a", "j"
	wide, _ := New(exec("git", "push", "origin"), true)
	wide.ID = "b"
	f.Add(encode([]Grant{g, wide}))
	f.Add([]byte("[[grants]]\nid='\\u0000'\nexpert='e'\ntool='t'\nargs='{}'\nwhen='2026-01-02T03:04:05Z'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, problems := parse("g.toml", data)
		if problems.Err() != nil {
			return
		}
		again, problems := parse("g.toml", encode(all))
		if diff := cmp.Diff(all, again); len(problems) > 0 || diff != "" {
			t.Errorf("%v\n%s", problems, diff)
		}
		for _, g := range all {
			if _, ok := Covers([]Grant{g}, Call{Expert: g.Expert + "2", Skill: g.Skill, Tool: g.Tool, Args: rawjson.Value(g.Args)}); ok {
				t.Errorf("%+v covers a call of another Expert", g)
			}
		}
	})
}
