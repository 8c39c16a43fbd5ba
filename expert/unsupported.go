package expert

import "cmp"

// later lists what the file may say and this version cannot do yet. One row is
// one feature; the part that brings the feature deletes its row.
//
// Each row finds its uses in the run that is about to start and reports them.
var later = []func(u *use){
	func(u *use) { // providers
		if u.provider != "replay" {
			u.report("provider.providerName", u.provider == u.config.Provider.Name,
				"provider "+quote(u.provider)+" cannot be used by this version yet", `only "replay" can`)
		}
	},
	func(u *use) { // runtimes
		if u.runtime != "local" {
			u.report("runtime", u.runtime == u.config.Runtime,
				"runtime "+quote(u.runtime)+" cannot be used by this version yet", `only "local" can`)
		}
	},
	func(u *use) { // another base skill
		if len(u.config.BaseSkillCommand) > 0 {
			u.report("perstackBaseSkillCommand", true, "another base skill cannot be started by this version yet", "remove it")
		}
	},
	func(u *use) { // MCP skills
		for _, s := range u.expert.Skills {
			replaced := s.IsBase() && len(u.config.BaseSkillCommand) > 0 // reported above
			if s.Type != InteractiveSkill && !u.config.BuiltIn(s) && !replaced {
				u.report(u.skill(s), true, "skills of type "+string(s.Type)+" cannot be started by this version yet", "")
			}
		}
	},
	func(u *use) { // delegation
		if len(u.expert.Delegates) > 0 {
			u.report(u.path("delegates"), true, "delegates cannot be run by this version yet", "")
		}
	},
	func(u *use) { // what the provider runs itself
		const message = "tools and skills of the provider cannot be used by this version yet"
		if len(u.expert.ProviderTools) > 0 {
			u.report(u.path("providerTools"), true, message, "")
		}
		if len(u.expert.ProviderSkills) > 0 {
			u.report(u.path("providerSkills"), true, message, "")
		}
		if u.expert.ProviderToolOptions != nil {
			u.report(u.path("providerToolOptions"), true, message, "")
		}
	},
	func(u *use) { // minimum version
		if u.expert.MinRuntimeVersion != "" {
			u.note(u.path("minRuntimeVersion"), "is not compared with this version yet")
		}
	},
	func(u *use) { // network allow lists outside of containers
		for _, s := range u.expert.Skills {
			if len(s.AllowedDomains) > 0 && u.runtime == "local" {
				u.note(pathTo(u.skill(s), "allowedDomains"), "is not enforced by runtime local yet")
			}
		}
	},
	func(u *use) { // lockfile
		if u.config.LockPath != "" {
			u.problems = append(u.problems, Problem{File: u.config.LockPath, Message: "the lockfile is not used by this version yet", Warning: true})
		}
	},
}

// Unsupported lists what keeps this version from running e, and, as warnings,
// what it will not do although the file says so. Such keys are no mistakes:
// they are valid, and reported only when they are used. Provider and runtime
// are those of the run, after flags; empty means what the file or the default
// says.
func (c *Config) Unsupported(e *Expert, provider, runtime string) Problems {
	u := &use{
		config: c, expert: e,
		provider: cmp.Or(provider, c.Provider.Name, DefaultProvider),
		runtime:  cmp.Or(runtime, c.Runtime, DefaultRuntime),
	}
	for _, row := range later {
		row(u)
	}
	u.problems.sort()
	return u.problems
}

// use is a run that is about to start.
type use struct {
	config            *Config
	expert            *Expert
	provider, runtime string
	problems          Problems
}

func (u *use) path(key string) string { return pathTo(pathTo("experts", u.expert.Name), key) }

func (u *use) skill(s *Skill) string { return pathTo(u.path("skills"), s.Name) }

// report adds an error. What comes from a flag or a default has no place in
// the file.
func (u *use) report(path string, fromFile bool, message, hint string) {
	var pos Position
	if fromFile {
		pos = u.config.positions[path]
	}
	u.problems = append(u.problems, Problem{
		File: cmp.Or(u.config.file, FileName), Line: pos.Line, Column: pos.Column, Path: path, Message: message, Hint: hint,
	})
}

func (u *use) note(path, message string) {
	u.report(path, true, message, "")
	u.problems[len(u.problems)-1].Warning = true
}
