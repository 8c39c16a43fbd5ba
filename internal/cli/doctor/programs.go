package doctor

import (
	"context"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/job"
)

// known says how to install a program, and whether it can be asked for its version. Others are only
// looked for: what they do with an argument is not known.
func known(name string) (install string, ask bool) {
	switch name {
	case "node":
		return "install Node.js", true
	case "npm", "npx":
		return "install npm, which comes with Node.js", true
	case "uv", "uvx":
		return "install uv", true
	}
	return "install " + name, false
}

// programs checks those that the skills of the project start on this machine.
func (x *examination) programs(ctx context.Context) []Check {
	none := []Check{{ID: "programs", Title: "skill programs", Status: Info, Detail: "no skill of this project needs one"}}
	c := x.project().config
	if c == nil || c.Settings.Runtime == job.Docker {
		return none
	}
	names := neededPrograms(c)
	if len(names) == 0 {
		return none
	}
	all := make([]Check, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { all[i] = x.program(ctx, name) })
	}
	wg.Wait()
	return all
}

// neededPrograms are what the skills of a file need in PATH, each once.
func neededPrograms(c *manifest.Config) (names []string) {
	seen := make(map[string]bool)
	for _, e := range c.Experts {
		for _, s := range e.Skills {
			for _, name := range programsOf(s) {
				if !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func programsOf(s *expert.Skill) []string {
	if s.BuiltIn || s.Type != expert.StdioSkill {
		return nil
	}
	switch p, ok := s.Package(); {
	case ok && p.Manager == "uvx":
		return []string{"uvx"}
	case ok:
		return []string{"node", "npm"}
	case strings.ContainsAny(s.Command, `/\`):
		return nil // a file, which the lockfile is about
	}
	return []string{s.Command}
}

func (x *examination) program(ctx context.Context, name string) Check {
	c := Check{ID: "program." + name, Title: name, Status: OK}
	search, _ := sandbox.Environment(x.host.Environ, nil)
	install, ask := known(name)
	path, err := sandbox.LookPath(name, search)
	if err != nil {
		c.Status, c.Detail, c.Fix = Fail, "a skill needs it, and it is not in PATH", install
		return c
	}
	if c.Detail = path; !ask {
		return c
	}
	out, err := x.commands.Version(ctx, path, x.host.Dir, x.host.Environ)
	if err == nil && out.ExitCode != 0 {
		c.Status, c.Detail = Warn, path+" does not tell its version"
		return c
	}
	if err != nil {
		c.Status, c.Detail = Warn, path+" cannot be started: "+err.Error()
		return c
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out.Stdout.String()), "\n")
	c.Detail = first + " at " + path
	return c
}
