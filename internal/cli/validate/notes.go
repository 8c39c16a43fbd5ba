package validate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// cassetteProblems looks at the answers that the replay provider is to play. A file
// that does not say where they are is fine: perstack run --cassette can.
func cassetteProblems(c *manifest.Config, shorten func(string) string) (all toml.Problems) {
	const key = "provider.setting.cassette"
	check := func(key, provider, path, hint string) {
		if provider != "replay" {
			return
		}
		if path == "" {
			p := c.Problem(key, "is not set", hint)
			p.Warning = true
			all = append(all, p)
		} else if _, err := replay.Load(path); err != nil {
			all = append(all, c.Problem(key, strings.ReplaceAll(err.Error(), path, shorten(path)), ""))
		}
	}
	check(key, c.Settings.Provider, c.Settings.Setting.Cassette, "name the file with the answers, or give it to perstack run with --cassette")
	for _, e := range c.Experts {
		if e.Provider != nil {
			check(toml.PathTo("experts", e.Name)+"."+key, e.Provider.Name, e.Provider.Setting.Cassette, "name the file with the answers")
		}
	}
	return all
}

// refused lists what keeps perstack run from starting an Expert of the file, for a reason that
// lies in the file or in its lockfile. Warnings say what a run will not do. Flags can change
// some of it, but a run without them is what the file promises.
func refused(c *manifest.Config, lock *lockfile.Lock, lockErr error, workspace string) toml.Problems {
	runs := make([][]*expert.Expert, len(c.Experts))
	for i, e := range c.Experts {
		runs[i] = []*expert.Expert{e} // together they are all runs, but for what Experts do to each other
	}
	found := host.Refused(c, job.Settings{}, lock, lockErr, runs...)
	locked := found.Err() == nil // else a new lockfile pins images too
	if locked {
		found = append(found, changedPrograms(c, lock, workspace)...)
	}
	found = append(found, c.MixedPackages()...)
	found = append(found, models(c)...)
	found = append(found, unpriced(c)...)
	if locked && c.Settings.Runtime == job.Docker {
		for _, name := range c.Images() {
			if _, ok := lock.Image(name); !ok {
				found = append(found, c.Problem("docker", "the image "+name+" is not pinned", lockfile.InstallAgain))
			}
		}
	}
	return found
}

// changedPrograms lists the skills whose programs are not those that the lockfile pins, or cannot be
// read.
func changedPrograms(c *manifest.Config, lock *lockfile.Lock, workspace string) (found toml.Problems) {
	for _, e := range c.Experts {
		for _, s := range e.Servers() {
			one := &expert.Expert{Key: e.Key, Name: e.Name, Skills: []*expert.Skill{s}}
			spec := job.Spec{Settings: c.Settings, Experts: []*expert.Expert{one}, Workspace: job.Workspace{Dir: workspace}}
			if err := skills.RecordPrograms(&spec, lock); err != nil {
				p := c.Problem(toml.PathTo("experts", e.Name, "skills", s.Name), cmp.Or(errors.Unwrap(err), err).Error(), "")
				if errors.As(err, new(*skills.LockError)) {
					p.Hint = lockfile.InstallAgain
				}
				found = append(found, p)
			}
		}
	}
	return found
}

// others are the files beside perstack.toml that a run reads, and refuses if a job has changed them.
func others(h *host.Host, c *manifest.Config) (paths []string) {
	if c == nil {
		return nil
	}
	paths = append(paths, c.LockFile())
	for _, f := range manifest.EnvFiles(h.Dir, h.Home, nil, c) {
		paths = append(paths, f.Path)
	}
	add := func(provider, cassette string) {
		if provider == "replay" && cassette != "" {
			paths = append(paths, cassette)
		}
	}
	add(c.Settings.Provider, c.Settings.Setting.Cassette)
	for _, e := range c.Experts {
		if e.Provider != nil {
			add(e.Provider.Name, e.Provider.Setting.Cassette)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// loaders notes the skills whose code no lockfile can pin, because their programs find it by
// themselves.
func loaders(c *manifest.Config, workspace string) (notes toml.Problems) {
	for _, e := range c.Experts {
		for _, s := range e.Servers() {
			argv, err := s.CommandLine()
			if err != nil || len(notes) > maxListed {
				continue
			}
			for _, l := range programs.Loaders(workspace, argv) {
				notes = append(notes, c.Problem(toml.PathTo("experts", e.Name, "skills", s.Name, "command"), l.String(), ""))
			}
		}
	}
	return notes
}

// models lists what keeps the models of the file from being opened with any key, and as
// warnings what a run would warn of. A file can have a thousand Experts that use one model:
// what they share is looked at once.
func models(c *manifest.Config) (found toml.Problems) {
	seen := make(map[string]bool)
	plainDone, settingDone := false, false
	for _, e := range c.Experts {
		if len(found) > maxListed {
			break
		}
		plain := !e.NamesModel() && len(e.ProviderTools)+len(e.ProviderSkills) == 0 && e.ProviderToolOptions == nil
		if plain && plainDone {
			continue
		}
		plainDone = plainDone || plain
		config := modelConfig(c, e)
		if e.Provider == nil {
			if settingDone { // what the setting sends is the same for all of them
				config.Setting.ExtraBody, config.Setting.Headers = nil, nil
			}
			settingDone = true
		}
		for _, p := range providers.Check(config) {
			path := p.Path
			if p.OfExpert(e) {
				path = toml.PathTo("experts", e.Name) + "." + path
			}
			if problem := c.Problem(path, p.Err.Error(), ""); !seen[problem.String()] {
				seen[problem.String()] = true
				found = append(found, problem)
			}
		}
		for _, line := range providers.Warnings(config) {
			path := "model"
			if e.NamesModel() {
				path = toml.PathTo("experts", e.Name, path)
			}
			if problem := c.Problem(path, line, ""); !seen[problem.String()] {
				seen[problem.String()] = true
				problem.Warning = true
				found = append(found, problem)
			}
		}
	}
	return found
}

func modelConfig(c *manifest.Config, e *expert.Expert) providers.Config {
	use := providers.Choice(c.Settings, e)
	return providers.Config{
		Provider: use.Provider, Model: use.Model,
		Setting: use.Setting, Entry: c.Models[use.Model],
		Expert: e, OwnTools: true, File: c.Path, Dir: c.Dir,
	}
}

// unpriced lists the models without a price that a run would use although its cost is
// limited.
func unpriced(c *manifest.Config) (found toml.Problems) {
	spec := job.Spec{Settings: c.Settings, Prices: c.Prices, Models: c.Models}
	spec.Complete(providers.Catalogue{})
	report := func(path, name string) {
		found = append(found, c.Problem(path, fmt.Sprintf("the cost is limited, but what the model %q costs is not known", name), fmt.Sprintf("write it into [prices.%q]", name)))
	}
	without := func(e *expert.Expert) string {
		use := spec.ModelOf(e)
		if _, known := spec.Price(use.Provider, use.Model, model.PriceOf); known {
			return ""
		}
		return use.Model
	}
	if c.Settings.Limits.MaxCost > 0 {
		told := make(map[string]bool)
		for _, e := range c.Experts {
			if name := without(e); name != "" && !told[name] {
				told[name] = true
				report("maxCost", name)
			}
		}
		return found
	}
	c.Meets(func(e *expert.Expert) bool { return e.MaxCost > 0 }, without, func(e *expert.Expert, name string) {
		report(toml.PathTo("experts", e.Name, "maxCost"), name)
	})
	return found
}

// requests lists what the files of the project ask for beyond the defaults. Env files and
// a configuration of the user that cannot be read are for the run to report.
func requests(h *host.Host, c *manifest.Config, lock *lockfile.Lock, shorten func(string) string) (notes toml.Problems) {
	own, _ := h.Own(c.Dir, h.Dir)
	question := host.Question{
		Host: h, Workspace: h.Dir, Files: manifest.EnvFiles(h.Dir, h.Home, nil, c),
		Project: consent.Project{Config: c, Lock: lock, Experts: c.Experts, Resolved: job.Resolve(job.Flags{User: own.Settings}, c.Settings, job.Settings{}, providers.Catalogue{})},
	}
	_, list, _ := question.Peek()
	for _, r := range list {
		n := toml.Problem{File: r.File, Message: h.Secrets.Redact(string(r.Kind) + ": " + terminal.CleanLine(r.Text))}
		if r.Path != "" {
			n = c.Problem(r.Path, n.Message, "")
		}
		n.File = shorten(n.File)
		notes = append(notes, n)
	}
	return notes
}
