package validate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/providers/replay"
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

// refused lists what would keep perstack run from starting an Expert although the file can
// be read: whether it matters depends on the flags that are given, so these are notes. A
// key that is not set here is not one of them.
func refused(c *manifest.Config, e *expert.Expert) (notes toml.Problems) {
	use := providers.Choice(c.Settings, e)
	name := use.Model
	for _, p := range providers.Check(providers.Config{
		Provider: use.Provider, Model: name,
		Setting: use.Setting, Entry: c.Models[name],
		Expert: e, OwnTools: true,
	}) {
		path := p.Path
		if p.OfExpert(e) {
			path = toml.PathTo("experts", e.Name) + "." + path
		}
		notes = append(notes, c.Problem(path, "no run will start: "+p.Err.Error(), ""))
	}
	return append(notes, unpriced(c, e)...)
}

// unpriced lists the models without a price that a run of an Expert, or its delegates, would
// use although the cost is limited.
func unpriced(c *manifest.Config, e *expert.Expert) (notes toml.Problems) {
	limitsCost := func(e *expert.Expert) bool { return e.MaxCost > 0 }
	ofJob := c.Settings.Limits.MaxCost > 0
	if !ofJob && !slices.ContainsFunc(c.Experts, limitsCost) {
		return nil // a file may have a thousand Experts that all reach each other
	}
	spec := c.Spec(e)
	spec.Complete(providers.Catalogue{})
	path := "maxCost"
	if limited := slices.IndexFunc(spec.Experts, limitsCost); !ofJob && limited >= 0 {
		path = toml.PathTo("experts", spec.Experts[limited].Name, "maxCost")
	}
	for _, name := range spec.Unpriced(model.PriceOf) {
		if name != "" {
			notes = append(notes, c.Problem(path, fmt.Sprintf("no run will start: what the model %q costs is not known", name), fmt.Sprintf("write it into [prices.%q]", name)))
		}
	}
	return notes
}

// unpinned lists what would keep perstack run from starting an Expert because of its
// lockfile: one that is broken or stale or, for a container, packages and images that are
// not pinned. err is what reading it came to.
func unpinned(c *manifest.Config, lock *lockfile.Lock, err error, e *expert.Expert) (notes toml.Problems) {
	docker := c.Settings.Runtime == job.Docker
	switch {
	case err != nil:
		notes = broken(err)
	case lock != nil:
		notes = lock.Stale(c, e)
	case docker:
		notes = lockfile.Needed(c, []*expert.Expert{e})
	}
	if len(notes) == 0 && docker { // a new lockfile pins images too
		closure, _ := c.Closure(e)
		for _, name := range c.ImagesOf(closure) {
			if _, ok := lock.Image(name); !ok {
				notes = append(notes, c.Problem("docker", "the image "+name+" is not pinned", lockfile.InstallAgain))
			}
		}
	}
	for i := range notes {
		notes[i].Message = "no run will start: " + notes[i].Message
	}
	return notes
}

// broken is the first thing that is wrong with a lockfile, with what to do about it. Where
// one thing is wrong, the rest of the file means little.
func broken(err error) toml.Problems {
	var all toml.Problems
	if !errors.As(err, &all) || len(all) == 0 {
		return toml.Problems{{Message: err.Error()}}
	}
	first := all[0]
	first.Hint = all[len(all)-1].Hint
	return toml.Problems{first}
}

// requests lists what the files of the project ask for beyond the defaults. Env files that
// cannot be read are for the run to report.
func requests(h *host.Host, c *manifest.Config, shorten func(string) string) (notes toml.Problems) {
	_, list, _ := host.Question{
		Host: h, Workspace: h.Dir, Files: manifest.EnvFiles(h.Dir, h.Home, nil, c),
		Project: consent.Project{Config: c, Experts: c.Experts, Resolved: job.Resolve(job.Flags{}, c.Settings, job.Settings{}, providers.Catalogue{})},
	}.Peek()
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
