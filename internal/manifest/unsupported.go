package manifest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	build "github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

const yet = " cannot be used by this version yet"

// Unsupported lists what keeps this version from running e or an Expert that e can reach by
// delegation and, as warnings, what it will not do although the file says so. Such keys are
// valid, and reported only when they are used. So are tools that the provider in use does
// not run: another one may.
//
// Flags are what is said about a run beside the file: provider, runtime, base image and
// sandbox count. What a flag says may be no such thing at all, and is not blamed on the file.
func (c *Config) Unsupported(e *expert.Expert, flags job.Settings) toml.Problems {
	experts, _ := c.Closure(e)
	return c.UnsupportedBy(experts, flags)
}

// UnsupportedBy is Unsupported for these Experts alone, without their delegates.
func (c *Config) UnsupportedBy(experts []*expert.Expert, flags job.Settings) toml.Problems {
	u := &use{
		config:    c,
		provider:  cmp.Or(flags.Provider, c.Settings.Provider, job.DefaultProvider),
		runtime:   cmp.Or(flags.Runtime, c.Settings.Runtime, job.Local),
		byFlag:    flags.Runtime != "" && flags.Runtime != c.Settings.Runtime,
		baseImage: cmp.Or(flags.Isolation.Container.BaseImage, c.Settings.Isolation.Container.BaseImage),
		sandbox:   cmp.Or(flags.Isolation.Sandbox, c.Settings.Isolation.Sandbox, job.DefaultSandbox),
		packages:  map[string]string{},
		told:      map[string]bool{},
		number:    strings.TrimSuffix(build.Number, "-unreleased"), // which it works towards
		released:  build.IsRelease(),
	}
	if err := model.CheckProvider(u.provider); err != nil { // a flag named it: the file was checked
		u.reportFlag(splitHint(err))
	}
	u.checkRuntime()
	for _, u.expert = range experts {
		u.providerFeatures()
		for i, key := range u.expert.Delegates {
			if c.index[key] == nil && !c.Fetched(key) { // published ones are fetched when they are needed
				hint := c.missingHint(key)
				if near := c.meant[key]; near != "" {
					hint = "did you mean " + wording.Quote(near) + "?"
				}
				u.report(toml.PathTo(u.path("delegates"), strconv.Itoa(i)), "delegate "+wording.Quote(key)+" is not in this file", hint)
			}
		}
		u.minRuntimeVersion()
		u.completion()
		u.sandboxes()
		if u.runtime == job.Docker {
			u.inContainer()
		}
	}
	u.oneImage()
	u.problems.Sort()
	return u.problems
}

// Problem is a finding about a key of the file. It stands where the key does, or
// where the table begins that could hold it, or has no place. One about a published Expert
// has no file.
func (c *Config) Problem(path, message, hint string) toml.Problem {
	if c.publishedAt(path) {
		return toml.Problem{Path: path, Message: message, Hint: hint}
	}
	return problemAt(c.positions, toml.Problem{File: cmp.Or(c.file, FileName), Path: path, Message: message, Hint: hint})
}

// problemAt gives a problem its place.
func problemAt(positions map[string]toml.Position, p toml.Problem) toml.Problem {
	for at, more := p.Path, true; more; {
		if pos, ok := positions[at]; ok {
			p.Line, p.Column = pos.Line, pos.Column
			break
		}
		end := strings.LastIndexByte(at, '.')
		at, more = at[:max(end, 0)], end > 0
	}
	return p
}

// use is a run that is about to start.
type use struct {
	config    *Config
	expert    *expert.Expert // the one that is looked at
	provider  string
	runtime   string
	byFlag    bool // a flag named the runtime, and another one than the file
	baseImage string
	sandbox   expert.SandboxLevel
	packages  map[string]string // where in the file the first package of a manager is asked for
	told      map[string]bool   // paths of what is the same for all Experts
	number    string            // the version of perstack
	released  bool              // it is the build of a release
	problems  toml.Problems
}

func (u *use) path(key string) string { return toml.PathTo("experts", u.expert.Name, key) }

func (u *use) skill(s *expert.Skill) string { return toml.PathTo(u.path("skills"), s.Name) }

// report adds an error about a key of the file.
func (u *use) report(path, message, hint string) {
	u.problems = append(u.problems, u.config.Problem(path, message, hint))
}

// reportFlag adds an error about what a flag says.
func (u *use) reportFlag(message, hint string) {
	u.problems = append(u.problems, toml.Problem{Message: message, Hint: hint})
}

func (u *use) note(path, message string) {
	u.report(path, message, "")
	u.problems[len(u.problems)-1].Warning = true
}

// SandboxAll is how hints call what gives every skill a sandbox. Programs that have a
// setting for it replace it with its name.
const SandboxAll = "a sandbox for all skills"

// checkRuntime refuses a runtime that this version does not have.
func (u *use) checkRuntime() {
	named := "runtime " + wording.Quote(u.runtime)
	switch {
	case u.runtime == job.Local, u.runtime == job.Docker:
	case !slices.Contains(runtimeNames, u.runtime):
		u.reportFlag(named+" is unknown", wording.DidYouMean(u.runtime, runtimeNames))
	case u.byFlag:
		u.reportFlag(named+yet, "only local and docker can")
	default:
		u.report("runtime", named+yet, "only local and docker can")
	}
}

// completion refuses a built-in base skill without the tool that ends a run. What another
// program offers is known only when it runs.
func (u *use) completion() {
	s, ok := u.expert.Skill(expert.BaseSkill)
	if !ok || !s.BuiltIn {
		return
	}
	var key string
	switch {
	case slices.Contains(s.Omit, event.CompletionTool):
		key = "omit"
	case len(s.Pick) > 0 && !slices.Contains(s.Pick, event.CompletionTool):
		key = "pick"
	default:
		return
	}
	hint := map[string]string{"omit": "remove it there", "pick": "add it there"}[key]
	u.report(toml.PathTo(u.skill(s), key), "leaves out the tool "+event.CompletionTool+", by which an Expert says that it is done", hint)
}

// sandboxes looks for rights that no sandbox enforces: readers of the file would rely on them.
func (u *use) sandboxes() {
	for _, s := range u.expert.Skills {
		enforced := s.Sandboxed(u.runtime, u.sandbox)
		if s.Workspace != "" && !enforced {
			u.report(toml.PathTo(u.skill(s), "workspace"), "it is not enforced: with runtime "+u.runtime+" the skill has no sandbox",
				`add sandbox = "landlock" beside it, or use `+SandboxAll+" or runtime docker")
		}
		if len(s.AllowedDomains) > 0 && u.runtime == job.Local && !enforced {
			message := "is not enforced by runtime local"
			if s.StartsPrograms() {
				message += ` without sandbox = "landlock" or ` + SandboxAll
			}
			u.note(toml.PathTo(u.skill(s), "allowedDomains"), message+"; runtime docker does")
		}
	}
}

// providerFeatures looks at what the Expert wants the provider to run itself.
func (u *use) providerFeatures() {
	provider := u.provider
	if own := u.expert.Provider; own != nil {
		provider = own.Name
	}
	if provider == "replay" {
		// Its answers are prepared, so nothing is missed; but nothing is searched either.
		const message = "is not used by provider replay, whose answers are prepared"
		if len(u.expert.ProviderTools) > 0 {
			u.note(u.path("providerTools"), message)
		}
		if len(u.expert.ProviderSkills) > 0 {
			u.note(u.path("providerSkills"), message)
		}
		return
	}
	facts := model.ProviderNamed(provider)
	tools, hint := facts.Tools, facts.ToolHint
	switch {
	case hint != "":
		tools = nil
	case len(tools) == 0:
		hint = "it has none; remove it"
	default:
		hint = "it has " + wording.And(tools)
	}
	for i, name := range u.expert.ProviderTools {
		if !slices.Contains(tools, name) {
			u.report(toml.PathTo(u.path("providerTools"), strconv.Itoa(i)), "provider "+wording.Quote(provider)+" has no tool "+wording.Quote(name), hint)
		}
	}
	if len(u.expert.ProviderSkills) > 0 && !facts.Skills {
		u.report(u.path("providerSkills"), "provider "+wording.Quote(provider)+" runs no skills itself", "only anthropic does; remove them")
	}
}

// inContainer reports what the Expert cannot use with the runtime docker: what its container
// does not have, and what its proxy does not connect to.
func (u *use) inContainer() {
	for _, s := range u.expert.Skills {
		switch s.Type {
		case expert.StdioSkill:
			u.packageInContainer(s)
		case expert.SSESkill, expert.HTTPSkill:
			if message := netaddr.ProxyRefusal(s.Endpoint, s.AllowPrivateEndpoint); message != "" {
				path := toml.PathTo(u.skill(s), "endpoint")
				if s.AllowPrivateEndpoint {
					path = toml.PathTo(u.skill(s), "allowPrivateEndpoint")
				}
				u.report(path, "cannot be used with runtime docker: "+message, "use runtime local, or a server on port 443 of a public host")
			}
		case expert.InteractiveSkill: // the user answers, outside the container
		}
		for i, domain := range s.AllowedDomains {
			// What a wildcard stands for is as public as any name in its place.
			if netaddr.HostReach(strings.Replace(domain, "*", "any", 1)) != netaddr.Public {
				u.note(toml.PathTo(u.skill(s), "allowedDomains", strconv.Itoa(i)), wording.Quote(domain)+" never matches with runtime docker, where only public names can be reached")
			}
		}
	}
}

// packageInContainer refuses packages for which no image has what runs them. Whether they are
// pinned is for the lockfile to say: see internal/lockfile.
func (u *use) packageInContainer(s *expert.Skill) {
	manager := expert.PackageManager(s.Command)
	if manager == "" || s.BuiltIn {
		return
	}
	path := u.skill(s)
	if s.IsBase() && slices.Equal(append([]string{s.Command}, s.Args...), u.config.BaseSkillCommand) {
		path = "perstackBaseSkillCommand"
		if u.told[path] {
			return // it is the same for all Experts
		}
		u.told[path] = true
	}
	if u.packages[manager] == "" {
		u.packages[manager] = path
	}
	if manager == "uvx" && u.baseImage == "" && u.config.Settings.Isolation.Container.PythonImage == "" {
		u.report(path, "is a package of uvx, and no image has Python for it", "name one in [docker] with pythonImage, or baseImage")
	}
}

// MixedPackages lists what UnsupportedBy reports of runs of several Experts together, for all
// runs of the file: packages of both managers that no image is said to run.
func (c *Config) MixedPackages() (found toml.Problems) {
	if c.Settings.Runtime != job.Docker || c.Settings.Isolation.Container.BaseImage != "" {
		return nil
	}
	uses := func(e *expert.Expert, manager string) *expert.Skill {
		for _, s := range e.Skills {
			if !s.BuiltIn && s.Type == expert.StdioSkill && expert.PackageManager(s.Command) == manager {
				return s
			}
		}
		return nil
	}
	c.Meets(func(e *expert.Expert) bool { return uses(e, "uvx") != nil }, func(e *expert.Expert) string {
		if uses(e, "npx") != nil {
			return "npx"
		}
		return ""
	}, func(e *expert.Expert, _ string) {
		found = append(found, c.Problem(toml.PathTo("experts", e.Name, "skills", uses(e, "uvx").Name), bothManagers, bothManagersHint))
	})
	return found
}

const (
	bothManagers     = "is a package of uvx beside packages of npx, and one container cannot have both nodeImage and pythonImage"
	bothManagersHint = "name an image with both in [docker] with baseImage"
)

// oneImage refuses packages of both managers where no image is said to have both of what
// runs them: a container has one image.
func (u *use) oneImage() {
	if path := u.packages["uvx"]; path != "" && u.packages["npx"] != "" && u.baseImage == "" {
		u.report(path, bothManagers, bothManagersHint)
	}
}
