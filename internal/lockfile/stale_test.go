package lockfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
)

const lockedFile = `
[experts.lead]
instruction = "Lead."
delegates = ["writer", "plain"]
[experts.writer]
instruction = "Write."
delegates = ["lead"]
[experts.writer.skills.web]
type = "mcpStdioSkill"
command = "npx"
args = ["-y", "@acme/web"]
requiredEnv = ["WEB_KEY"]
[experts.writer.skills.far]
type = "mcpHttpSkill"
endpoint = "https://example.com/mcp"
[experts.plain]
instruction = "Only base."
[experts.other]
instruction = "Never asked."
[experts.other.skills.web]
type = "mcpStdioSkill"
command = "web"
`

// lockOf is what installing a file writes, with a tool or none for each skill.
func lockOf(c *manifest.Config) *Lock {
	l := &Lock{Path: "perstack.lock", ConfigPath: filepath.Base(c.Path)}
	for _, e := range c.Experts {
		locked := NewExpert(e)
		for _, s := range e.Servers() {
			entry := &Skill{Name: s.Name, Digest: s.Connection(), Source: SourceOf(s)}
			if p, ok := s.Package(); ok {
				entry.Package = &Package{Manager: p.Manager, Name: p.Name, Version: "1.0.0", Integrity: "sha512-x", Tree: "{}"}
			}
			locked.Skills = append(locked.Skills, entry)
		}
		l.Experts = append(l.Experts, locked)
	}
	return l
}

func parseGood(t *testing.T, file string) *manifest.Config {
	t.Helper()
	c, problems := manifest.Parse("perstack.toml", []byte(file))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// What a run must not find otherwise makes the lock stale, in the whole closure and
// nowhere else; what the file decides does not. Differences names all of it.
func TestStale(t *testing.T) {
	for name, test := range map[string]struct {
		old, text   string
		stale, diff string // the first problem; empty for none
	}{
		"same":             {},
		"instruction":      {`"Write."`, `"Write more."`, "", `the Expert "writer" was edited`},
		"description":      {`instruction = "Write."`, "instruction = 'Write.'\ndescription = 'x'", "", `the Expert "writer" was edited`},
		"pick":             {`requiredEnv`, "pick = ['a']\nrequiredEnv", "", `the Expert "writer" was edited`},
		"rule":             {`requiredEnv`, "rule = 'a'\nrequiredEnv", "", `the Expert "writer" was edited`},
		"lazyInit":         {`requiredEnv`, "lazyInit = true\nrequiredEnv", "", `the Expert "writer" was edited`},
		"limits":           {`instruction = "Write."`, "instruction = 'Write.'\nmaxSteps = 3\nmaxTokens = 5\nmaxCost = 0.5\nmaxDuration = '1h'", "", `the Expert "writer" was edited`},
		"limits of a job":  {"\n[experts.lead]", "maxSteps = 3\nmaxTokens = 5\nmaxCost = 0.5\nmaxDuration = '1h'\nmaxDepth = 2\nprices.m = {input = 1, output = 1}\n[experts.lead]", "", ""},
		"variable":         {`["WEB_KEY"]`, `["WEB_KEY", "MORE"]`, `the skill "web" of "writer" changed from "npx -y @acme/web with WEB_KEY" to "npx -y @acme/web with MORE, WEB_KEY"`, ""},
		"package":          {`"@acme/web"`, `"@acme/wep"`, `the skill "web" of "writer" changed from "npx -y @acme/web with WEB_KEY" to "npx -y @acme/wep with WEB_KEY"`, ""},
		"version":          {`"@acme/web"`, `"@acme/web@1.0.0"`, `the skill "web" of "writer" changed from "npx -y @acme/web with WEB_KEY" to "npx -y @acme/web@1.0.0 with WEB_KEY"`, ""},
		"endpoint":         {"example.com/mcp", "example.com/mcp2", `the skill "far" of "writer" changed from "https://example.com/mcp" to "https://example.com/mcp2"`, ""},
		"new skill":        {"[experts.plain]", "[experts.writer.skills.new]\ntype='mcpStdioSkill'\ncommand='x'\n[experts.plain]", `the skill "new" of "writer" is new`, ""},
		"new question":     {"[experts.plain]", "[experts.writer.skills.ask]\ntype='interactiveSkill'\ntools.q={inputJsonSchema='{}'}\n[experts.plain]", "", `the Expert "writer" was edited`},
		"renamed skill":    {"skills.far]", "skills.near]", `the skill "near" of "writer" is new`, ""},
		"delegates":        {`["writer", "plain"]`, `["writer", "plain", "other"]`, `"lead" delegates to others now: +other`, ""},
		"fewer delegates":  {`["writer", "plain"]`, `["writer"]`, `"lead" delegates to others now: -plain`, ""},
		"order":            {`["writer", "plain"]`, `["plain", "writer"]`, "", `the Expert "lead" was edited`},
		"outside":          {`command = "web"`, `command = "web2"`, "", `the skill "web" of "other" changed from "web" to "web2"`},
		"new outside":      {"[experts.other]", "[experts.more]\ninstruction='x'\n[experts.other]", "", `the Expert "more" is new`},
		"gone":             {"[experts.other]\ninstruction = \"Never asked.\"\n[experts.other.", "[experts.plain.", `the skill "web" of "plain" is new`, ""},
		"skill gone":       {"[experts.writer.skills.far]\ntype = \"mcpHttpSkill\"\nendpoint = \"https://example.com/mcp\"", "", "", `the skill "far" of "writer" is gone`},
		"base from a file": {"[experts.plain]", "[experts.plain.skills.'@perstack/base']\ntype='mcpStdioSkill'\ncommand='x'\n[experts.plain]", `the skill "@perstack/base" of "plain" is new`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(lockedFile, test.old) {
				t.Fatalf("%q is not in the file", test.old)
			}
			lock := lockOf(parseGood(t, lockedFile))
			now := parseGood(t, strings.Replace(lockedFile, test.old, test.text, 1))
			lead, _ := now.Lookup("lead")
			compare(t, "stale", lock.Stale(now, lead), test.stale)
			diff := test.diff
			if diff == "" {
				diff = test.stale
			}
			compare(t, "differences", lock.Differences(now), diff)
		})
	}
}

// compare looks at the first problem, and at the hint behind the last.
func compare(t *testing.T, what string, got toml.Problems, want string) {
	t.Helper()
	if (len(got) > 0) != (want != "") {
		t.Errorf("%s = %v, want %q", what, got, want)
		return
	}
	if want == "" {
		return
	}
	if got[0].Message != want || !strings.HasSuffix(got.Error(), "; install the Experts again") || got.Err() == nil || got[0].File != "perstack.lock" {
		t.Errorf("%s = %v, want %q", what, got.Error(), want)
	}
}

// A lock cannot have another package started than the file names.
func TestStalePackage(t *testing.T) {
	file := strings.Replace(lockedFile, `"@acme/web"`, `"@acme/web@1.0.0"`, 1)
	c := parseGood(t, file)
	writer, _ := c.Lookup("writer")
	for name, change := range map[string]func(*Skill){
		"name":       func(s *Skill) { s.Package.Name = "@evil/web" },
		"manager":    func(s *Skill) { s.Package.Manager = "uvx" },
		"version":    func(s *Skill) { s.Package.Version = "0.9.0" },
		"no package": func(s *Skill) { s.Package = nil },
	} {
		lock := lockOf(c)
		if got := lock.Stale(c, writer); got != nil {
			t.Fatal(got)
		}
		locked, _ := lock.Expert("writer")
		web, _ := locked.Skill("web")
		change(web)
		compare(t, name, lock.Stale(c, writer), `the skill "web" of "writer" is pinned to a package that it does not ask for`)
	}
	lock := lockOf(c)
	locked, _ := lock.Expert("writer")
	far, _ := locked.Skill("far")
	far.Package = &Package{Manager: "npx", Name: "x"}
	compare(t, "package of a remote skill", lock.Stale(c, writer), `the skill "far" of "writer" is pinned to a package that it does not ask for`)
}

// Experts that are gone, and a lock of another file.
func TestDifferencesOfOthers(t *testing.T) {
	c := parseGood(t, lockedFile)
	lock := lockOf(c)
	lock.ConfigPath = "other.toml"
	lock.Experts = append(lock.Experts, &Expert{Key: "old"})
	compare(t, "stale", lock.Stale(c, c.Experts[0]), `was made from "other.toml", not from "perstack.toml"`)
	got := lock.Differences(c)
	if len(got) != 2 || got[0].Message != `was made from "other.toml", not from "perstack.toml"` || got[1].Message != `the Expert "old" is gone` {
		t.Errorf("differences = %v", got)
	}
	if got := (*Lock)(nil).Stale(c, c.Experts[0]); got != nil {
		t.Errorf("no lock is stale: %v", got)
	}
}

// Each file has a lockfile of its own, which bears its name.
func TestLockFile(t *testing.T) {
	for path, want := range map[string]string{
		"perstack.toml": "perstack.lock", "b.toml": "b.lock", "b.conf": "b.conf.lock", "b.TOML": "b.TOML.lock", "b": "b.lock", "": "perstack.lock",
	} {
		c := &manifest.Config{Dir: "d"}
		if path != "" {
			c.Path = filepath.Join("d", path)
		}
		if got := c.LockFile(); got != filepath.Join("d", want) {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// No lockfile is no error; one that is there and cannot be used is.
func TestConfigReadLock(t *testing.T) {
	dir := t.TempDir()
	c := &manifest.Config{Dir: dir}
	if lock, err := Read(c); lock != nil || err != nil {
		t.Errorf("without a file: %v, %v", lock, err)
	}
	if err := os.Symlink("nowhere", c.LockFile()); err != nil {
		t.Fatal(err)
	}
	if lock, err := Read(c); lock != nil || err == nil {
		t.Errorf("link to nothing: %v, %v", lock, err)
	}
	if err := sampleLock(t).Write(c.LockFile()); err != nil {
		t.Fatal(err)
	}
	if lock, err := Read(c); err != nil || lock.Path != c.LockFile() {
		t.Errorf("%v, %v", lock, err)
	}
}

// Packages for a container must be pinned; programs need not be.
func TestNeeded(t *testing.T) {
	c := parseGood(t, "[experts.a]\ninstruction='x'\n[experts.a.skills.s]\ntype='mcpStdioSkill'\ncommand='npx'\npackageName='x@1.0.0'\n[experts.a.skills.t]\ntype='mcpStdioSkill'\ncommand='./t'")
	want := `perstack.toml:3:19: experts.a.skills.s: the package "x@1.0.0" is not pinned, and runtime docker puts only pinned ones into an image; install the Experts again`
	if got := Needed(c, c.Experts).Error(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
