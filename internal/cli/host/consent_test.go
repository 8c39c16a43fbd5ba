package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
)

// The answer to perstack install is for what it pinned. Without a lockfile, or with another, the
// project asks again.
func TestAnswerIsKeptForPins(t *testing.T) {
	c, problems := manifest.Parse("perstack.toml", []byte("[experts.a]\ninstruction = 'x'\n[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\nargs = ['@x/y']\nrequiredEnv = ['TOKEN']\n"))
	if c == nil {
		t.Fatal(problems)
	}
	c.Dir = t.TempDir()
	s := c.Experts[0].Servers()[0]
	lock := func(integrity string) *lockfile.Lock {
		entry := &lockfile.Skill{Name: s.Name, Digest: s.Connection(), Package: &lockfile.Package{Manager: "npx", Name: "@x/y", Version: "1.0.0", Integrity: integrity}}
		return &lockfile.Lock{Experts: []*lockfile.Expert{{Key: c.Experts[0].Key, Skills: []*lockfile.Skill{entry}}}}
	}
	home := t.TempDir()
	ask := func(input string, lock *lockfile.Lock, later, yes bool) (*Question, string, error) {
		var screen bytes.Buffer
		h := &Host{Home: home, Dir: c.Dir, Stderr: &screen, Stdin: strings.NewReader(input), StdinIsTerminal: true, StderrIsTerminal: true, Yes: yes}
		q := &Question{
			Host: h, Workspace: c.Dir, Later: later,
			Project: consent.Project{Config: c, Experts: c.Experts, Lock: lock, Resolved: job.Resolve(job.Flags{}, c.Settings, job.Settings{}, providers.Catalogue{})},
		}
		_, err := q.Env(t.Context())
		return q, screen.String(), err
	}
	allowed := func(lock *lockfile.Lock) bool {
		_, screen, err := ask("n\n", lock, false, false)
		return err == nil && screen == ""
	}

	q, _, err := ask("", nil, true, true)
	if err != nil {
		t.Fatal(err)
	}
	if q.Keep(lock("a")); allowed(lock("a")) {
		t.Error("--yes was remembered")
	}
	q, screen, err := ask("y\n", nil, true, false)
	if err != nil || !strings.Contains(screen, "not pinned: the registry decides") {
		t.Fatalf("%v: %s", err, screen)
	}
	if allowed(nil) {
		t.Error("an answer of install was remembered before it pinned anything")
	}
	q.Keep(lock("a"))
	if !allowed(lock("a")) {
		t.Error("what was installed is asked about again")
	}
	if allowed(lock("b")) || allowed(nil) {
		t.Error("the answer is one for other code")
	}

	// The next install finds the same: nothing is asked, and the answer stays.
	if q, screen, err = ask("n\n", lock("a"), true, false); err != nil || screen != "" {
		t.Errorf("%v: %s", err, screen)
	}
	q.Keep(lock("a"))
	if !allowed(lock("a")) || allowed(nil) {
		t.Error("installing again changed the answer")
	}

	// An answer to a run without a lockfile does not outlive the first lockfile.
	if _, _, err = ask("y\n", nil, false, false); err != nil || !allowed(nil) {
		t.Fatal(err)
	}
	if _, _, err = ask("y\n", lock("b"), false, false); err != nil || !allowed(lock("b")) || allowed(nil) {
		t.Errorf("%v: a lost lockfile is not asked about", err)
	}
}
