package consent

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A Project is what the files of a project say, as far as it counts for a run.
type Project struct {
	Config     *manifest.Config
	Lock       *lockfile.Lock            // nil if there is none, or if it will be made again
	Programs   map[*expert.Skill]Program // of skills that get variables, as far as they have one
	Experts    []*expert.Expert          // that can run
	Resolved   job.Resolved              // what flags, the file and a recorded job come to
	Outside    []OutsideFile             // env files that the user did not name
	Registries []Registry                // that the file names, and that the run would ask for Experts
	Published  []Published               // Experts that are not in the file
	// Workspace is where programs work.
	Workspace string
	Env       env.Env // of the env files that have been read
}

// List returns what the files of a project ask for beyond the defaults. What the user said with
// a flag, or what a resumed job recorded, is not part of it.
func List(p Project) []Request {
	l := &lister{project: p}
	for _, f := range p.Outside {
		l.envFile(f)
	}
	for _, e := range p.Experts {
		for _, s := range e.Servers() {
			l.skill(e, s)
		}
		l.model(e)
	}
	l.limits()
	if p.Resolved.Runtime == job.Docker {
		l.container()
		l.sandboxLimits(p.Resolved.Isolation.SandboxLimits, job.DefaultSandboxLimits())
	} else {
		l.sandbox()
	}
	l.approvals()
	l.snapshots()
	l.registries()
	l.published()
	return sorted(l.list)
}

type lister struct {
	project Project
	list    []Request
}

// add adds a request of perstack.toml.
func (l *lister) add(kind Kind, path, subject, format string, args ...any) *Request {
	at := l.project.Config.Problem(path, "", "")
	l.list = append(l.list, Request{Kind: kind, Text: fmt.Sprintf(format, args...), File: at.File, Line: at.Line, Path: path, subject: subject})
	return &l.list[len(l.list)-1]
}

func (l *lister) envFile(f OutsideFile) {
	r := l.add(manifest.RequestEnvFiles, "envPath", f.Real, "perstack reads the env file %s", f.Real)
	if f.Link {
		r.subject += " by " + f.Path // the project can name the file itself as well
		r.Text, r.File, r.Line, r.Path = "perstack reads the env file "+f.Real+", to which a link leads", f.Path, 0, ""
	}
	r.Explicit = true
}

// skill adds what a server gets. The answer is for its code and, in a sandbox, for the hosts that
// it can reach.
func (l *lister) skill(e *expert.Expert, s *expert.Skill) {
	path, subject := toml.PathTo("experts", e.Name, "skills", s.Name), s.Name+" "+s.Connection()
	if len(s.RequiredEnv) > 0 {
		code, about := l.code(e, s)
		if hosts, limited := l.hosts(s); limited {
			subject += " reaches " + hosts
			about += "; can reach " + cmp.Or(hosts, "no host")
		}
		if about != "" {
			about = " (" + about + ")"
		}
		// The command line is the last: it can be long, and must not look like what is said about it.
		l.add(manifest.RequestVariables, toml.PathTo(path, "requiredEnv"), subject, "your %s for skill %q%s: %s",
			wording.And(s.RequiredEnv), s.Name, about, commandLine(s)).code = code
	}
	if s.AllowPrivateEndpoint {
		l.add(manifest.RequestNetwork, toml.PathTo(path, "allowPrivateEndpoint"), s.Name+" "+s.Connection(),
			"skill %q can be in your private network: %s", s.Name, commandLine(s))
	}
}

// hosts are those that a skill can reach, if a sandbox limits them.
func (l *lister) hosts(s *expert.Skill) (hosts string, limited bool) {
	is := l.project.Resolved
	limited = s.Type == expert.StdioSkill && s.Sandboxed(is.Runtime, is.Isolation.Sandbox)
	if limited {
		hosts = strings.Join(slices.Compact(slices.Sorted(slices.Values(s.AllowedDomains))), ", ")
	}
	return hosts, limited
}

// model adds where the requests of an Expert go, if a file decides it.
func (l *lister) model(e *expert.Expert) {
	spec := job.Spec{Settings: l.project.Resolved.Settings}
	use := spec.ModelOf(e)
	path := "provider.setting"
	if e.Provider != nil {
		path = toml.PathTo("experts", e.Name) + "." + path
	}
	l.added(use, path)
	if tools := slices.Compact(slices.Sorted(slices.Values(e.ProviderTools))); len(tools) > 0 {
		// They run at the provider, where no sandbox of ours limits what they reach.
		l.add(manifest.RequestProvider, toml.PathTo("experts", e.Name, "providerTools"), use.Provider+" tools "+strings.Join(tools, " "),
			"Expert %q uses tools that run at %s: %s", e.Name, use.Provider, wording.And(tools))
	}
	for _, d := range providers.Destinations(providers.Config{Provider: use.Provider, Model: use.Model, Setting: use.Setting, Variables: l.variable}) {
		if d.Own {
			continue
		}
		to := shown(d.To)
		// The user's key goes to an address of perstack.toml, and not to one of an env file, so an
		// answer about one is none about the other.
		subject := use.Provider + " " + d.To
		if d.File != "" {
			subject += " without your key"
		}
		r := l.add(manifest.RequestBaseURL, path+"."+d.Key, subject, "what the Expert sees goes to %s", to)
		if len(model.KeyEnv(use.Provider)) > 0 {
			r.Text = fmt.Sprintf("what the Expert sees and your key for %s go to %s", use.Provider, to)
		}
		if d.File != "" {
			r.Text, r.File, r.Line, r.Path = fmt.Sprintf("what the Expert sees goes to %s, by %s", to, d.Key), d.File, 0, ""
		}
	}
}

// added adds the texts that a file puts into every request to a model: a header can choose another
// account, and a text can be an instruction. Numbers and switches of extraBody only tune the model.
func (l *lister) added(use job.ModelChoice, path string) {
	add := func(path, subject, format string, args ...any) {
		l.add(manifest.RequestProvider, path, use.Provider+" "+subject, "every request to %s has "+format, append([]any{use.Provider}, args...)...)
	}
	s := use.Setting
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		add(toml.PathTo(path, "headers", name), "header "+name+" "+s.Headers[name], "the header %s", name) // its value can be a key
	}
	for _, name := range slices.Sorted(maps.Keys(s.ExtraBody)) {
		if value := s.ExtraBody[name]; providers.HasText(value) {
			add(toml.PathTo(path, "extraBody", name), "member "+name+" "+string(value), "the text of extraBody.%s", name) // so can the text
		}
	}
	if s.Organization != "" {
		add(path+".organization", "organization "+s.Organization, "the organization %s", s.Organization)
	}
	if s.Project != "" && use.Provider == "openai" { // of Google Cloud, it is where the request goes
		add(path+".project", "project "+s.Project, "the project %s", s.Project)
	}
}

// shown is a destination without what can be a secret in an address.
func shown(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return to // a project, or an address that is refused later
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}

func (l *lister) variable(name string) providers.Variable {
	return providers.Variable{Value: l.project.Env.Get(name), File: l.project.Env.File(name)}
}

// limits adds the limits of the job that the file raises. Those of a single Expert only bound
// it further.
func (l *lister) limits() {
	for _, limit := range job.AllLimits() {
		usual := limit.Default
		if d := (providers.Catalogue{}).DefaultTimeout(l.project.Resolved.Provider); limit.Name == "timeout" && d > 0 {
			usual = d.Seconds()
		}
		value := limit.Value(&l.project.Resolved.Limits)
		if usual == 0 || l.project.Resolved.From(limit.Name) != job.File || !limit.Looser(value, usual) {
			continue
		}
		l.raised(limit.Name, limit.Name, written(limit, value), written(limit, usual))
	}
}

func (l *lister) raised(path, name, value, usual string) {
	l.add(manifest.RequestLimits, path, name+" "+value, "%s is %s, instead of %s", name, value, usual)
}

func written(limit job.Limit, value float64) string {
	switch {
	case value == job.None:
		return "no limit"
	case limit.Unit == job.Milliseconds:
		return fmt.Sprintf("%.0f ms", value*1000)
	}
	return wording.Number(value)
}
