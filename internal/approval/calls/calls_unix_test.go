//go:build unix

package calls

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// newDecider returns the decider of a job with some skills, in a workspace with a file a.txt.
func newDecider(t *testing.T, change func(*job.Spec)) (*Decider, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "a.txt", "one\ntwo\n")
	files, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	spec := job.Spec{
		Expert: "dev",
		Experts: []*expert.Expert{{Key: "dev", Name: "dev", Skills: []*expert.Skill{
			{Name: "near", Type: expert.StdioSkill, Command: "server"},
			{Name: "web", Type: expert.StdioSkill, Command: "server", AllowedDomains: []string{"example.com"}},
			{Name: "far", Type: expert.HTTPSkill, Endpoint: "https://example.com"},
		}}},
		Settings: job.Settings{Runtime: job.Local, Isolation: job.Isolation{Sandbox: expert.SandboxFull}},
	}
	if change != nil {
		change(&spec)
	}
	return &Decider{Spec: spec, Workspace: files, Environ: os.Environ()}, files.Path()
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// decide decides about a call "skill tool args".
func decide(t *testing.T, d *Decider, text string, grants ...engine.Grant) engine.Decision {
	t.Helper()
	fields := strings.SplitN(text, " ", 3)
	if fields[0] == "base" {
		fields[0] = expert.BaseSkill
	}
	return d.Decide(t.Context(), engine.CallRequest{
		Experts: []string{"lead", "dev"}, Grants: grants, Plan: d.Spec.Approvals.Plan,
		Call: event.ToolCall{ID: "c1", SkillName: fields[0], ToolName: fields[1], Args: rawjson.Value(fields[2])},
	})
}

const push = `base exec {"command":"git","args":["push"]}`

func preset(p job.Preset) func(*job.Spec) {
	return func(s *job.Spec) { s.Approvals.Sources = []job.Rules{{Origin: job.FromUser, Preset: p}} }
}

func rules(all ...job.Rule) func(*job.Spec) {
	return func(s *job.Spec) { s.Approvals.Sources = []job.Rules{{Origin: job.FromUser, Rules: all}} }
}

func off(s *job.Spec) { s.Isolation.Sandbox = expert.SandboxOff }

func both(all ...func(*job.Spec)) func(*job.Spec) {
	return func(s *job.Spec) {
		for _, change := range all {
			change(s)
		}
	}
}

// The table of presets in docs/approvals.md.
func TestPresets(t *testing.T) {
	const reads, writes, local, remote, own = `base readTextFile {"path":"a.txt"}`, `base writeTextFile {"path":"a.txt","text":""}`, `near do {}`, `far do {}`, `mine do {}`
	for _, tt := range []struct {
		name   string
		change func(*job.Spec)
		call   string
		want   job.Verdict
	}{
		{"auto", nil, reads, job.Allow}, {"auto", nil, writes, job.Allow}, {"auto", nil, push, job.Allow},
		{"auto", nil, local, job.Allow}, {"auto", nil, remote, job.Allow}, {"auto", nil, own, job.Allow},
		{"no sandbox", off, reads, job.Allow}, {"no sandbox", off, writes, job.Allow}, {"no sandbox", off, push, job.Ask}, {"no sandbox", off, local, job.Ask},
		{"no sandbox", off, remote, job.Allow}, {"no sandbox", off, own, job.Allow},
		{"accepted", both(off, func(s *job.Spec) { s.Approvals.SandboxOff = true }), push, job.Allow},
		{"docker", both(off, func(s *job.Spec) { s.Runtime = job.Docker }), push, job.Allow},
		{"ask", preset(job.PresetAsk), reads, job.Allow}, {"ask", preset(job.PresetAsk), `base todo {}`, job.Allow},
		{"ask", preset(job.PresetAsk), writes, job.Ask}, {"ask", preset(job.PresetAsk), push, job.Ask}, {"ask", preset(job.PresetAsk), own, job.Ask},
		{"read-only", preset(job.PresetReadOnly), reads, job.Allow}, {"read-only", preset(job.PresetReadOnly), writes, job.Deny}, {"read-only", preset(job.PresetReadOnly), push, job.Deny},
		{"never", both(preset(job.PresetNever), off), push, job.Deny},
		// Another server in place of the base skill can do anything.
		{"foreign base", both(preset(job.PresetAsk), func(s *job.Spec) {
			s.Experts[0].Skills = append(s.Experts[0].Skills, &expert.Skill{Name: expert.BaseSkill, Type: expert.StdioSkill, Command: "x"})
		}), reads, job.Ask},
	} {
		d, _ := newDecider(t, tt.change)
		if got := decide(t, d, tt.call); got.Do != tt.want {
			t.Errorf("%s: %s: %+v, want %s", tt.name, tt.call, got, tt.want)
		}
	}
}

// No base tool that changes something counts as reading.
func TestClasses(t *testing.T) {
	d, dir := newDecider(t, nil)
	tools, err := base.New(base.Options{Workspace: d.Workspace, Redact: func(s string) string { return s }}).Tools(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, tool := range tools {
		if class := approval.BaseClass(tool.Name); (class == approval.Reads) != (tool.ReadOnly || tool.MemoryOnly) {
			t.Errorf("%s: %v", tool.Name, class)
		}
	}
}

// What a server says about its tools can only make a call stricter, unless the user trusts it and
// the lockfile has its word.
func TestLyingServer(t *testing.T) {
	definition := func(hints string) lockfile.Tool {
		tool, err := lockfile.ParseTool(rawjson.Value(`{"name":"do","inputSchema":{"type":"object"},"annotations":` + hints + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	harmless, dangerous := definition(`{"readOnlyHint":true}`), definition(`{"destructiveHint":true}`)
	liar := definition(`{"readOnlyHint":true,"destructiveHint":true}`)
	for _, tt := range []struct {
		name   string
		skill  string
		change func(*job.Spec)
		says   lockfile.Tool
		pinned bool
		want   job.Verdict
	}{
		{name: "destructive, with network", skill: "web", says: dangerous, want: job.Ask},
		{name: "destructive, elsewhere", skill: "far", says: dangerous, want: job.Ask},
		{name: "destructive, in its sandbox", skill: "near", says: dangerous, want: job.Allow},
		{name: "read-only, not trusted", skill: "web", says: harmless, pinned: true, change: preset(job.PresetAsk), want: job.Ask},
		{name: "read-only, trusted, not pinned", skill: "web", says: harmless, change: both(preset(job.PresetAsk), trust("web")), want: job.Ask},
		{name: "read-only, another one is trusted", skill: "web", says: harmless, pinned: true, change: both(preset(job.PresetAsk), trust("near")), want: job.Ask},
		{name: "read-only, trusted and pinned", skill: "web", says: harmless, pinned: true, change: both(preset(job.PresetAsk), trust("web")), want: job.Allow},
		{name: "read-only, trusted and pinned, in a plan", skill: "far", says: harmless, pinned: true, change: both(trust("far"), plans), want: job.Deny},
		{name: "the same in its sandbox", skill: "web", says: harmless, pinned: true, change: both(trust("web"), plans), want: job.Allow},
		{name: "both", skill: "near", says: liar, pinned: true, change: both(preset(job.PresetAsk), trust("near")), want: job.Ask},
	} {
		d, _ := newDecider(t, tt.change)
		if tt.pinned {
			d.Lock = &lockfile.Lock{Experts: []*lockfile.Expert{{Key: "dev", Skills: []*lockfile.Skill{{Name: tt.skill, Tools: []lockfile.Tool{tt.says}}}}}}
		}
		got := d.Decide(t.Context(), engine.CallRequest{
			Experts: []string{"dev"}, Call: event.ToolCall{SkillName: tt.skill, ToolName: "do", Args: rawjson.Value(`{}`)}, Plan: d.Spec.Approvals.Plan,
			Tool: skill.Tool{Name: "do", Digest: tt.says.Digest, Destructive: tt.says.Destructive},
		})
		if got.Do != tt.want {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.want)
		}
	}
}

func trust(name string) func(*job.Spec) {
	return func(s *job.Spec) { s.Approvals.TrustHints = []string{name} }
}

// Rules see paths as they are resolved, and both of a move.
func TestPathRules(t *testing.T) {
	d, dir := newDecider(t, rules(job.Rule{Path: "secret/**", Do: job.Deny}))
	if err := os.Mkdir(filepath.Join(dir, "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]job.Verdict{
		`base readTextFile {"path":"a.txt"}`:                             job.Allow,
		`base readTextFile {"path":"secret/x"}`:                          job.Deny,
		`base readTextFile {"path":"link/x"}`:                            job.Deny,
		`base readTextFile {"path":"./link/../secret/x/y"}`:              job.Deny,
		`base writeTextFile {"path":"` + dir + `/link/new","text":""}`:   job.Deny,
		`base moveFile {"source":"a.txt","destination":"b.txt"}`:         job.Allow,
		`base moveFile {"source":"a.txt","destination":"link/b.txt"}`:    job.Deny,
		`base moveFile {"source":"secret/a","destination":"b.txt"}`:      job.Deny,
		`base createDirectory {"path":"link/deep/down"}`:                 job.Deny,
		`base exec {"command":"cat","args":["secret/x"]}`:                job.Allow, // the sandbox is the barrier
		`base editTextFile {"path":"no/such","oldText":"","newText":""}`: job.Allow,
	} {
		if got := decide(t, d, call); got.Do != want {
			t.Errorf("%s: %+v, want %s", call, got, want)
		}
	}
}

// A call about a directory is about what a rule protects in it.
func TestPathRulesFromAbove(t *testing.T) {
	for call, want := range map[string]job.Verdict{
		`base grep {"pattern":"x"}`:                                   job.Deny,
		`base grep {"pattern":"x","path":"."}`:                        job.Deny,
		`base grep {"pattern":"x","path":"a"}`:                        job.Deny,
		`base grep {"pattern":"x","path":"a/b"}`:                      job.Deny,
		`base grep {"pattern":"x","path":"a/other"}`:                  job.Allow,
		`base grep {"pattern":"x","path":"a.txt"}`:                    job.Allow,
		`base moveFile {"source":"a","destination":"c"}`:              job.Deny,
		`base moveFile {"source":"link","destination":"c"}`:           job.Deny,
		`base moveFile {"source":"new","destination":"a"}`:            job.Deny,
		`base moveFile {"source":"new","destination":"c"}`:            job.Allow,
		`base moveFile {"source":"a.txt","destination":"a/c"}`:        job.Allow,
		`base deleteDirectory {"path":"a","recursive":true}`:          job.Deny,
		`base deleteDirectory {"path":"a"}`:                           job.Allow, // it has to be empty
		`base deleteDirectory {"path":"a/other","recursive":true}`:    job.Allow,
		`base listDirectory {}`:                                       job.Allow,
		`base listDirectory {"path":"a"}`:                             job.Allow,
		`base writeTextFile {"path":"a/other/x","text":"b/secret/x"}`: job.Allow,
		`base createDirectory {"path":"a"}`:                           job.Allow,
		`base glob {"pattern":"**","path":"a"}`:                       job.Allow, // it returns names only
	} {
		for _, pattern := range []string{"a/b/secret/**", "a/b/secret/key", "a/b/*/key"} {
			d, dir := newDecider(t, rules(job.Rule{Path: pattern, Do: job.Deny}))
			write(t, dir, "a.txt", "")
			for _, name := range []string{"a/b/secret", "a/other", "new"} {
				if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			if got := decide(t, d, call); got.Do != want {
				t.Errorf("%s with %s: %+v, want %s", call, pattern, got, want)
			}
		}
	}
	d, _ := newDecider(t, rules(job.Rule{Path: "**", Do: job.Deny}))
	for _, call := range []string{`base grep {"pattern":"x"}`, `base glob {"pattern":"x"}`, `base listDirectory {}`} {
		if got := decide(t, d, call); got.Do != job.Deny {
			t.Errorf("%s: %+v, although all paths are denied", call, got)
		}
	}
	// To allow what is in a directory is not to allow what is done to all of it.
	d, dir := newDecider(t, func(s *job.Spec) {
		s.Approvals.Sources = []job.Rules{{Origin: job.FromUser, Preset: job.PresetAsk, Rules: []job.Rule{{Path: "a/b/**", Do: job.Allow}}}}
	})
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := decide(t, d, `base deleteDirectory {"path":"a","recursive":true}`); got.Do != job.Ask {
		t.Errorf("a rule that allows a/b/** allows to delete a: %+v", got)
	}
}

// A rule that allows a program means the one of the system, however the call names another.
func TestProgramsOfTheWorkspace(t *testing.T) {
	d, dir := newDecider(t, both(preset(job.PresetAsk), func(s *job.Spec) {
		s.Approvals.Sources[0].Rules = []job.Rule{{Command: []string{"ls", "**"}, Do: job.Allow}}
	}))
	write(t, dir, "ls", "#!/bin/sh\n")
	for call, want := range map[string]job.Verdict{
		`base exec {"command":"ls"}`:                         job.Allow,
		`base exec {"command":"ls","args":["-l"]}`:           job.Allow,
		`base exec {"command":"./ls"}`:                       job.Ask,
		`base exec {"command":"` + dir + `/ls"}`:             job.Ask,
		`base exec {"command":"ls","env":{"LS_COLORS":"x"}}`: job.Ask,
	} {
		if got := decide(t, d, call); got.Do != want {
			t.Errorf("%s: %+v, want %s", call, got, want)
		}
	}
	d.Environ = []string{"PATH=" + dir}
	if got := decide(t, d, `base exec {"command":"ls"}`); got.Do != job.Ask || got.Effect.Program != filepath.Join(dir, "ls") {
		t.Errorf("found in the workspace: %+v", got)
	}
	outside := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "ls"), filepath.Join(outside, "ls")); err != nil {
		t.Fatal(err)
	}
	d.Environ = []string{"PATH=" + outside}
	if got := decide(t, d, `base exec {"command":"ls"}`); got.Do != job.Ask {
		t.Errorf("a link into the workspace: %+v", got)
	}
}

func TestEffects(t *testing.T) {
	d, dir := newDecider(t, preset(job.PresetAsk))
	got := decide(t, d, `base exec {"command":"./tool","args":["a b"],"env":{"B":"2","A":"1"},"cwd":"sub"}`)
	if e := got.Effect; e.Kind != event.CommandEffect || e.Program != filepath.Join(dir, "sub", "tool") || e.Dir != filepath.Join(dir, "sub") ||
		strings.Join(e.Argv, "|") != "./tool|a b" || strings.Join(e.Env, "|") != "A=1|B=2" || got.Sandbox != "full" || got.Once {
		t.Errorf("%+v", got)
	}
	for call, want := range map[string]string{
		`base writeTextFile {"path":"a.txt","text":"one\nthree\n"}`:                    "-two\n+three\n",
		`base writeTextFile {"path":"new","text":"x\n"}`:                               "+x\n",
		`base appendTextFile {"path":"a.txt","text":"three\n"}`:                        "+three\n",
		`base editTextFile {"path":"a.txt","oldText":"two","newText":"2"}`:             "-two\n+2\n",
		`base editTextFile {"path":"a.txt","oldText":"nowhere","newText":"elsewhere"}`: "-nowhere",
		`base deleteFile {"path":"a.txt"}`:                                             "-one\n-two\n",
	} {
		e := decide(t, d, call).Effect
		if e.Kind != event.FileEffect || !strings.Contains(e.Diff, want) || strings.Contains(e.Diff, "-one") && !strings.Contains(want, "-one") {
			t.Errorf("%s: %+v", call, e)
		}
	}
	if e := decide(t, d, `base moveFile {"source":"a.txt","destination":"b.txt"}`).Effect; e.Path != "a.txt -> b.txt" {
		t.Errorf("%+v", e)
	}
	if e := decide(t, d, `near do {"a":1}`).Effect; e.Kind != event.ToolEffect {
		t.Errorf("%+v", e)
	}
}

// The digest covers everything that the answer is about.
func TestDigest(t *testing.T) {
	d, dir := newDecider(t, preset(job.PresetAsk))
	write(t, dir, "run.sh", "echo 1")
	calls := []string{
		`base exec {"command":"sh","args":["run.sh"]}`,
		`base exec {"command":"./run.sh"}`,
		`base exec {"command":"sh","args":["--file=run.sh"]}`,
		`base exec {"command":"sh","args":["` + dir + `/run.sh"]}`,
		`near do {"deep":[{"file":"run.sh"}]}`,
		`base writeTextFile {"path":"run.sh","text":"x"}`,
	}
	before := make(map[string]string)
	seen := make(map[string]string)
	for _, call := range calls {
		before[call] = decide(t, d, call).Digest
		if decide(t, d, call).Digest != before[call] || seen[before[call]] != "" {
			t.Errorf("%s has the digest of %s", call, seen[before[call]])
		}
		seen[before[call]] = call
	}
	write(t, dir, "run.sh", "echo 2")
	for _, call := range calls {
		if decide(t, d, call).Digest == before[call] {
			t.Errorf("%s: its file has changed, its digest has not", call)
		}
	}
	const same = `base exec {"command":"git","args":["push"],"cwd":"a","env":{"A":"1"}}`
	digest := decide(t, d, same).Digest
	if got := decide(t, d, `base exec {"env":{"A":"1"}, "cwd":"a","args":["push"],"command":"git"}`).Digest; got != digest {
		t.Error("the order of members changes the digest")
	}
	for _, other := range []string{
		`base exec {"command":"git","args":["pull"],"cwd":"a","env":{"A":"1"}}`,
		`base exec {"command":"git","args":["push"],"cwd":"b","env":{"A":"1"}}`,
		`base exec {"command":"git","args":["push"],"cwd":"a","env":{"A":"2"}}`,
		`base exec {"command":"git","args":["push",""],"cwd":"a","env":{"A":"1"}}`,
	} {
		if decide(t, d, other).Digest == digest {
			t.Errorf("%s has the same digest", other)
		}
	}
	d.Environ = []string{"PATH=" + dir}
	write(t, dir, "git", "#!/bin/sh\n")
	if decide(t, d, same).Digest == digest {
		t.Error("another program has the same digest")
	}
	digest = decide(t, d, same).Digest
	d.Spec.Isolation.Sandbox = expert.SandboxOff
	if decide(t, d, same).Digest == digest {
		t.Error("without a sandbox it has the same digest")
	}
}

// The words of a command that runs others name files as well, and some it reads without a name.
func TestDigestOfInnerFiles(t *testing.T) {
	many := strings.Repeat("x ", 10) + strings.Join(slices.Collect(func(yield func(string) bool) {
		for i := range maxInnerNames {
			if !yield(strconv.Itoa(i)) {
				return
			}
		}
	}), " ")
	for _, tt := range []struct {
		call, file string
		same       bool
	}{
		{call: `base exec {"command":"sh","args":["-c","sh ./run.sh"]}`, file: "run.sh"},
		{call: `base exec {"command":"sh","args":["-c","cd sub;(cat<'sub/run.sh')|sh"]}`, file: "sub/run.sh"},
		{call: `base exec {"command":"find","args":[".","-exec","sh -c 'sh run.sh'",";"]}`, file: "run.sh"},
		{call: `base exec {"command":"make"}`, file: "Makefile"},
		{call: `base exec {"command":"npm","args":["test"],"cwd":"sub"}`, file: "sub/package.json"},
		{call: `base exec {"command":"make"}`, file: "other", same: true},
		{call: `base exec {"command":"git","args":["commit","-m","see run.sh"]}`, file: "run.sh", same: true},
	} {
		d, dir := newDecider(t, preset(job.PresetAsk))
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, tt.file, "1")
		before := decide(t, d, tt.call).Digest
		write(t, dir, tt.file, "2")
		if same := decide(t, d, tt.call).Digest == before; same != tt.same {
			t.Errorf("%s has changed: the digest of %s is the same: %t", tt.file, tt.call, same)
		}
	}
	// With more words than are looked at, an answer is for one call.
	d, _ := newDecider(t, preset(job.PresetAsk))
	request := engine.CallRequest{Experts: []string{"dev"}, Call: event.ToolCall{
		ID: "c1", SkillName: expert.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"sh","args":["-c","` + many + `"]}`),
	}}
	first := d.Decide(t.Context(), request).Digest
	if d.Decide(t.Context(), request).Digest != first {
		t.Error("the digest of a call changes")
	}
	request.Call.ID = "c2"
	if d.Decide(t.Context(), request).Digest == first {
		t.Error("two calls with more words than are looked at have the same digest")
	}
}

// A call that names a large file many times is decided as fast as one that names it once.
func TestDigestReadsFilesOnce(t *testing.T) {
	d, dir := newDecider(t, preset(job.PresetAsk))
	write(t, dir, "large", "")
	const size, times = 64 << 20, 20_000 // more than a terabyte together
	if err := os.Truncate(filepath.Join(dir, "large"), size); err != nil {
		t.Fatal(err)
	}
	if got := decide(t, d, `base exec {"command":"wc","args":["large"`+strings.Repeat(`,"large"`, times)+`]}`); got.Do != job.Ask || got.Digest == "" {
		t.Errorf("%s, digest %q", got.Do, got.Digest)
	}
	// Which file a name leads to is part of the digest, even if both were read.
	write(t, dir, "small", "x")
	link := filepath.Join(dir, "link")
	var digests [2]string
	for i, target := range []string{"large", "small"} {
		_ = os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		digests[i] = decide(t, d, `base exec {"command":"wc","args":["large","small","link"]}`).Digest
	}
	if digests[0] == digests[1] {
		t.Error("a link leads to another file, and the digest is the same")
	}
}

// Large files are not read to decide about a call. What changes with their content is compared
// instead, and an answer about a call that runs them is not kept.
func TestDigestOfLargeFiles(t *testing.T) {
	d, dir := newDecider(t, preset(job.PresetAsk))
	names := []string{"script", "first", "second", "third"}
	for i, size := range []int64{10, maxHashed - 9, 20, 1 << 36} {
		write(t, dir, names[i], "")
		if err := os.Truncate(filepath.Join(dir, names[i]), size); err != nil {
			t.Fatal(err)
		}
	}
	decideAll := func(program string) (*call, engine.Decision) {
		request := engine.CallRequest{Experts: []string{"dev"}, Call: event.ToolCall{
			ID: "c1", SkillName: expert.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"` + program + `","args":["script","first","second","third"]}`),
		}}
		c := d.newCall(t.Context(), request)
		c.digestOf(t.Context())
		return c, d.Decide(t.Context(), request)
	}
	c, before := decideAll("sh")
	if c.hashed != 30 || !c.unread || before.Do != job.Ask || !before.Once {
		t.Errorf("%d bytes were read; %+v", c.hashed, before)
	}
	if _, again := decideAll("sh"); again.Digest != before.Digest {
		t.Error("the digest changes while no file does")
	}
	if c, plain := decideAll("wc"); !c.unread || plain.Once { // its arguments say what it does
		t.Errorf("%+v", plain)
	}
	args := c.request.Call.Args
	for name, digest := range map[string]string{"the same": before.Digest, "none": ""} {
		grant := engine.Grant{Skill: expert.BaseSkill, Tool: "exec", Args: args, Digest: digest}
		if got := decide(t, d, "base exec "+string(args), grant); got.Do != job.Ask {
			t.Errorf("a grant with %s digest: %+v", name, got)
		}
	}
	d.Granted = func(q engine.GrantRequest) (string, bool) { return "stored", q.Digest() != "" }
	if got := decide(t, d, "base exec "+string(args)); got.Do != job.Ask {
		t.Errorf("a stored grant: %+v", got)
	}
	d.Granted = nil

	// A change of content that keeps the size and the time of the file is noticed.
	f, err := os.OpenFile(filepath.Join(dir, "third"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	was, err := opendir.StatFile(f)
	modified := time.Unix(0, was.Stamp.Modified)
	for now := was; err == nil && now == was; { // the clock of the file system can be slow
		_, written := f.WriteAt([]byte("x"), 1<<35)
		touched := os.Chtimes(f.Name(), modified, modified)
		now, err = opendir.StatFile(f)
		err = errors.Join(written, touched, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, after := decideAll("sh"); after.Digest == before.Digest {
		t.Error("a large file was changed, and the digest is the same")
	}
}

// An answer for the job covers the same arguments. Of a command that can do anything, all must be
// as it was.
func TestGrants(t *testing.T) {
	d, dir := newDecider(t, preset(job.PresetAsk))
	write(t, dir, "run.sh", "echo 1")
	grant := func(call string) engine.Grant {
		fields := strings.SplitN(call, " ", 3)
		return engine.Grant{Skill: expert.BaseSkill, Tool: fields[1], Args: rawjson.Value(fields[2]), Digest: decide(t, d, call).Digest}
	}
	const script = `base exec {"command":"sh","args":["run.sh"]}`
	pushes, scripts := grant(push), grant(script)
	for _, tt := range []struct {
		call string
		by   engine.Grant
		want job.Verdict
	}{
		{push, pushes, job.Allow}, {`base exec {"args":["push"], "command":"git"}`, pushes, job.Allow},
		{`base exec {"command":"git","args":["push","-f"]}`, pushes, job.Ask}, {script, pushes, job.Ask}, {script, scripts, job.Allow},
		{`near exec {"command":"git","args":["push"]}`, pushes, job.Ask},
	} {
		if got := decide(t, d, tt.call, tt.by); got.Do != tt.want {
			t.Errorf("%s: %+v, want %s", tt.call, got, tt.want)
		}
	}
	write(t, dir, "run.sh", "rm -rf .")
	if got := decide(t, d, script, scripts); got.Do != job.Ask {
		t.Errorf("the script has changed: %+v", got)
	}
	d.Granted = func(q engine.GrantRequest) (string, bool) {
		return "stored", q.Expert == "dev" && q.Command[0] == "git" && !q.Opaque && q.Digest() != ""
	}
	if got := decide(t, d, push); got.Do != job.Allow || got.By != "stored" {
		t.Errorf("stored: %+v", got)
	}
	d.Spec.Approvals.Sources[0].Rules = []job.Rule{{Tool: "exec", Do: job.Ask, Remember: new(bool)}}
	if got := decide(t, d, push, pushes); got.Do != job.Ask || !got.Once {
		t.Errorf("a rule that asks each time: %+v", got)
	}
}

// A job that is stopped does not wait until a large file is read, and the call has no digest that
// was answered.
func TestDigestStops(t *testing.T) {
	d, dir := newDecider(t, preset(job.PresetAsk))
	write(t, dir, "big", strings.Repeat("x", 1<<20))
	request := engine.CallRequest{Experts: []string{"dev"}, Call: event.ToolCall{SkillName: expert.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"cat","args":["big"]}`)}}
	ctx, cancel := context.WithCancel(t.Context())
	before := d.Decide(ctx, request).Digest
	cancel()
	if after := d.Decide(ctx, request).Digest; after == before {
		t.Error("the file was read to its end, or not at all")
	}
	// It also stops in the middle of a file.
	const size = 64 << 20
	if err := os.Truncate(filepath.Join(dir, "big"), size); err != nil {
		t.Fatal(err)
	}
	c := d.newCall(t.Context(), request)
	c.digestOf(&countdown{t.Context(), 100})
	if c.hashed == 0 || c.hashed > size/2 {
		t.Errorf("%d bytes were read", c.hashed)
	}
}

// A countdown is a context that ends when it was asked a number of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
