package inspect

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// newCard puts the card of e together. Dir is the workspace, and flag the --config that the command
// was called with.
func newCard(c *manifest.Config, e *expert.Expert, lock *lockfile.Lock, lockErr error, env env.Env, dir, flag string) *Card {
	spec := c.Spec(e)
	spec.Complete(providers.Catalogue{})
	b := &builder{config: c, spec: spec, unpriced: spec.Unpriced(model.PriceOf), env: env, dir: dir, flag: flag, found: map[Finding]bool{}, card: &Card{
		Format: 1, Expert: e.Key, Config: c.Path,
		Runtime: spec.Runtime,
		Docker:  container(spec.Settings),
		Limits:  limits(spec.Limits),
		Prices:  prices(c),
		Models:  models(c),
	}}
	if slices.ContainsFunc(spec.Experts, func(e *expert.Expert) bool { return !e.NamesModel() }) {
		b.card.Provider = b.provider(&expert.Expert{})
	}
	b.lockState(e, lock, lockErr)
	if p := b.card.Provider; p != nil {
		b.card.ListPrice = b.listPrice(p)
		b.findPrice(p)
	}
	b.findImages()
	for _, circle := range c.Circles(e) {
		var keys []string
		for _, e := range circle {
			keys = append(keys, e.Key)
		}
		b.card.Circles = append(b.card.Circles, keys)
	}
	for _, e := range spec.Experts {
		b.card.Experts = append(b.card.Experts, b.expert(e))
	}
	for i, e := range spec.Experts {
		b.findRefused(e)
		if own := b.card.Experts[i].Provider; own != nil {
			b.findPrice(own)
		}
	}
	b.findUnanswerable()
	return b.card
}

type builder struct {
	config   *manifest.Config
	spec     job.Spec // what a run without flags would run
	unpriced []string // models of spec
	env      env.Env
	dir      string         // the workspace
	flag     string         // --config
	lock     *lockfile.Lock // nil if there is none that can be read
	card     *Card
	found    map[Finding]bool // those of card
}

func limits(l job.Limits) Limits {
	return Limits{
		RunLimits: runLimits(l.Limits), MaxToolCalls: int64(l.MaxToolCalls), MaxDepth: l.MaxDepth, MaxParallel: l.MaxParallel, MaxRetries: l.Retries(),
		TimeoutMS: l.GenerationTimeout().Milliseconds(), MaxWorkspaceBytes: l.MaxWorkspaceBytes,
	}
}

func runLimits(l expert.Limits) RunLimits {
	return RunLimits{l.MaxSteps, l.MaxTokens, l.MaxCost, roundUp(l.MaxDuration)}
}

// roundUp writes a duration in milliseconds. A limit below one would look like none.
func roundUp(d time.Duration) int64 {
	return (d + time.Millisecond - 1).Milliseconds()
}

func prices(c *manifest.Config) []Price {
	var all []Price
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		all = append(all, Price{name, rates(c.Prices[name])})
	}
	return all
}

// lockState says how the lockfile was read. A broken one counts as none for everything else.
func (b *builder) lockState(e *expert.Expert, lock *lockfile.Lock, err error) {
	state := Lock{Path: b.config.LockFile(), State: lockMissing}
	switch {
	case err != nil:
		state.State, state.Problems = lockBroken, []string{host.AddConfig(err.Error(), b.flag)}
		if kept, ok := errors.AsType[*lockfile.KeepError](err); ok {
			b.warn("the lockfile cannot be read: what it pins is not known, and no run will start", kept.Problems[0].Hint)
		} else {
			b.warn("the lockfile is broken: nothing is pinned, and no run will start", install)
		}
	case lock != nil:
		state.State, state.GeneratedAt = lockFresh, lock.GeneratedAt
		b.lock = lock
		for _, p := range lock.Stale(b.config, e) {
			state.State = lockStale
			p.File, p.Hint = "", ""
			state.Problems = append(state.Problems, p.String())
		}
		if state.State == lockStale {
			b.warn("the lockfile is stale: no run will start", install)
		}
	}
	b.card.Lock = state
}

func (b *builder) expert(e *expert.Expert) Expert {
	card := Expert{
		Key: e.Key, Version: e.Version, Description: e.Description,
		Limits: runLimits(e.Limits), ProviderTools: e.ProviderTools,
	}
	for _, s := range e.ProviderSkills {
		card.ProviderSkills = append(card.ProviderSkills, ProviderSkill{s.Type, cmp.Or(s.SkillID, s.Name)})
	}
	for _, key := range e.Delegates {
		d, ok := b.config.Lookup(key)
		one := Delegate{Key: key, InFile: ok && !b.config.IsPublished(d)}
		switch {
		case ok && !one.InFile:
			one.Exact = d.Key
		case !ok && b.config.Fetched(key):
			b.find(Finding{Severity: warning, Expert: e.Key, Message: "the delegate " + key + " is published, and what it can do is not known on this machine", Hint: install})
		}
		card.Delegates = append(card.Delegates, one)
	}
	if e.NamesModel() {
		card.Provider = b.provider(e)
	}
	b.revealTexts(e)
	b.laterNotes(e)
	for _, s := range e.Skills {
		card.Skills = append(card.Skills, b.skill(e, s))
	}
	for _, err := range host.Collisions(e, func(s *expert.Skill) *lockfile.Skill { return b.pinned(e, s) }) {
		b.find(Finding{Severity: warning, Expert: e.Key, Message: "it will not start: " + err.Error()})
	}
	return card
}

// pinned is what the lockfile says about a server; nil if nothing that still holds.
func (b *builder) pinned(e *expert.Expert, s *expert.Skill) *lockfile.Skill {
	locked, _ := b.lock.Expert(e.Key)
	pinned, _ := locked.Skill(s.Name)
	if pinned == nil || !pinned.Holds(s) {
		return nil // it says something about another server
	}
	return pinned
}

// variables says which of them are set here, and where: an env file can have come with the project,
// and choose the account that is used. Values are not looked at any further.
func (b *builder) variables(names []string) []Variable {
	var all []Variable
	for _, name := range names {
		v := Variable{Name: name, Set: b.env.Get(name) != ""}
		if file := b.env.File(name); v.Set && file != "" {
			v.File = file
			if rest, in := userfile.Below(b.dir, file); in {
				v.File = rest
			}
		}
		all = append(all, v)
	}
	return all
}

// endpoint writes where a server is. What follows the host may be a key.
func endpoint(text string) string {
	if text == "" {
		return ""
	}
	if u, err := url.Parse(text); err == nil && (u.Path != "" && u.Path != "/" || u.RawQuery != "") {
		return host.Address(text) + "/…"
	}
	return host.Address(text)
}

// address writes a URL without what may be a secret in it.
func address(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}
