package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/protect"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/job"
)

// A TrustJob is a job that changes files of its workspace.
type TrustJob struct {
	State     string // the user's state directory
	Workspace string
	Change    func() error // what the job does
	Check     []string     // paths that the next run wants to read
}

// watch runs a job under the watch of package protect, and returns what the next run does not read.
func watch(ctx context.Context, j TrustJob) (refused []string, err error) {
	dir := state.Dir(j.State)
	project, err := dir.Project(j.Workspace)
	if err != nil {
		return nil, err
	}
	if err := project.Record(); err != nil {
		return nil, err
	}
	w, err := protect.Begin(ctx, protect.Options{State: project.State, Workspace: j.Workspace, Job: jobID, Now: time.Now()})
	if err != nil {
		return nil, err
	}
	if err := j.Change(); err != nil {
		return nil, err
	}
	if _, err := w.End(ctx, time.Now()); err != nil {
		return nil, err
	}
	marks, err := protect.Open(ctx, dir, time.Now)
	if err != nil {
		return nil, err
	}
	for _, path := range j.Check {
		c, err := marks.Check(path)
		if err != nil || len(c.Refusals) > 0 {
			refused = append(refused, path)
		}
	}
	return refused, nil
}

// trustedFiles attacks W2.
func (m *Machine) trustedFiles(ctx context.Context) audit.Result {
	top, err := m.dir("trust")
	if err != nil {
		return noStart(err)
	}
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return noStart(err)
	}
	ws := filepath.Join(top, "ws")
	at := func(name string) string { return filepath.Join(ws, filepath.FromSlash(name)) }
	err = errors.Join(
		os.MkdirAll(at("sub"), 0o700), os.MkdirAll(filepath.Join(top, "state"), 0o700),
		os.WriteFile(at("perstack.toml"), []byte("old"), 0o600),
		os.WriteFile(at("perstack.lock"), []byte("old"), 0o600),
		os.WriteFile(at("sub/.env"), []byte("old"), 0o600),
	)
	if err != nil {
		return noStart(err)
	}
	changed := []string{at("perstack.toml"), at("sub/.env"), at(".env")}
	refused, err := m.Parts.Watch(ctx, TrustJob{
		State: filepath.Join(top, "state"), Workspace: ws, Check: append(slices.Clone(changed), at("perstack.lock")),
		Change: func() error {
			return errors.Join(
				os.WriteFile(at("perstack.toml"), []byte("new"), 0o600),
				os.WriteFile(at(".env"), []byte("planted"), 0o600),
				os.Rename(at("sub/.env"), at("sub/x")), os.WriteFile(at("real"), []byte("linked"), 0o600), os.Symlink("../real", at("sub/.env")),
			)
		},
	})
	if err != nil {
		return noStart(err)
	}
	if slices.Contains(refused, at("perstack.lock")) {
		return noControl("a file that did not change is refused, too")
	}
	for _, path := range changed {
		if !slices.Contains(refused, path) {
			return audit.Break(audit.BuiltIn, "%s, which a job wrote, would be read by the next run", filepath.Base(path))
		}
	}
	return audit.Hold(audit.BuiltIn, "a changed perstack.toml, a planted env file and one that became a link were not read; an unchanged lockfile was")
}

// pinnedPrograms attacks W3.
func (m *Machine) pinnedPrograms(context.Context) audit.Result {
	dir, err := m.dir("program")
	if err != nil {
		return noStart(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return noStart(err)
	}
	script := filepath.Join(dir, "tools", "server.js")
	err = errors.Join(os.MkdirAll(filepath.Dir(script), 0o700), os.WriteFile(script, []byte("good"), 0o600), os.WriteFile(filepath.Join(dir, "tools", "lib.js"), []byte("good"), 0o600))
	if err != nil {
		return noStart(err)
	}
	argv := []string{"node", "tools/server.js"}
	pinned, err := m.Parts.Program(dir, argv)
	if err != nil {
		return noStart(err)
	}
	if again, err := m.Parts.Program(dir, argv); err != nil || programs.Compare(pinned, again) != "" {
		return noControl("a program that did not change differs")
	}
	for _, change := range []struct{ name, text string }{{"tools/server.js", "evil"}, {"tools/lib.js", "evil"}, {"tools/more.js", "evil"}} {
		path := filepath.Join(dir, filepath.FromSlash(change.name))
		if err := os.WriteFile(path, []byte(change.text), 0o600); err != nil {
			return noStart(err)
		}
		now, err := m.Parts.Program(dir, argv)
		if err == nil && programs.Compare(pinned, now) == "" {
			return audit.Break(audit.BuiltIn, "%s was changed, and the program would be started", change.name)
		}
		if pinned, err = m.Parts.Program(dir, argv); err != nil {
			return noStart(err)
		}
	}
	return audit.Hold(audit.BuiltIn, "a changed script, a changed file beside it and a new one were noticed; packages are proved by the test only, because they need npm")
}

func asks(c *manifest.Config) (texts []string) {
	p := consent.Project{Config: c, Experts: c.Experts, Resolved: job.Resolve(job.Flags{}, c.Settings, job.Settings{}, providers.Catalogue{})}
	for _, r := range consent.List(p) {
		texts = append(texts, r.Text)
	}
	return texts
}

// consentIsAsked attacks W5.
func (m *Machine) consentIsAsked(context.Context) audit.Result {
	plain, problems := manifest.Parse("perstack.toml", []byte("[experts.a]\ninstruction = \"x\"\n"))
	if err := problems.Err(); err != nil {
		return noStart(err)
	}
	if asked := m.Parts.Asks(plain); len(asked) > 0 {
		return noControl(fmt.Sprintf("a project that wants nothing asks for %q", asked))
	}
	for what, text := range map[string]string{
		"a base URL":         "[provider]\nproviderName = \"openai\"\n[provider.setting]\nbaseUrl = \"https://evil.test/v1\"\n[experts.a]\ninstruction = \"x\"\n",
		"a variable":         fmt.Sprintf(askingTOML, "SEARCH_KEY"),
		"a private endpoint": "[experts.a]\ninstruction = \"x\"\n[experts.a.skills.s]\ntype = \"mcpSseSkill\"\nendpoint = \"https://10.0.0.1/\"\nallowPrivateEndpoint = true\n",
	} {
		config, problems := manifest.Parse("perstack.toml", []byte(text))
		if err := problems.Err(); err != nil {
			return noStart(err)
		}
		if len(m.Parts.Asks(config)) == 0 {
			return audit.Break(audit.BuiltIn, "a project gets %s without consent", what)
		}
	}
	return audit.Hold(audit.BuiltIn, "a base URL, a variable for a skill and a private endpoint need consent; a plain project needs none")
}
