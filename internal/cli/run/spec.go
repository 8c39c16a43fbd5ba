package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A plan is a Spec while it is made and checked.
type plan struct {
	opts     *Options
	project  *project
	target   *target
	resolved job.Resolved
	spec     job.Spec
	lock     *lockfile.Lock  // nil if there is none
	said     map[string]bool // lines that the user has read
}

// makeSpec turns flags, files and the recorded job into what is run. Everything that can be
// wrong with it is reported here, before anything is started.
func makeSpec(ctx context.Context, o *Options, p *project, t *target) (*plan, error) {
	pl := &plan{opts: o, project: p, target: t, said: make(map[string]bool)}
	pl.resolved = job.Resolve(p.flags(o), p.config.Settings, t.recorded.Settings, providers.Catalogue{})
	if err := pl.checkModel(); err != nil {
		return nil, err
	}
	e, err := pl.expert()
	if err != nil {
		return nil, err
	}
	pl.spec = p.config.Spec(e)
	spec := &pl.spec
	spec.Settings = pl.resolved.Settings
	if pl.resolved.From("timeout") == job.Default {
		spec.SetDefaultTimeout(providers.Catalogue{})
	}
	spec.Published = p.published.Recorded()
	spec.Programs = t.recorded.Programs
	spec.JobID, spec.RunID, spec.Version, spec.Verbose = t.jobID, o.RunID, version.String(), o.Verbose
	spec.Workspace = job.Workspace{Dir: o.workspace(), Hidden: p.hidden, ReadOnly: p.readOnly}
	for _, use := range spec.ModelUses() {
		if path := use.Setting.Cassette; path != "" {
			spec.Workspace.ReadOnly = append(slices.Clip(spec.Workspace.ReadOnly), path)
		}
	}
	if o.Host.Reproducible {
		spec.Sequential, spec.Limits.MaxParallel = true, 1
	}
	if spec.Approvals.AllowAll {
		pl.say("--allow-all: every tool call that would be asked about is allowed; rules that deny still hold")
	}
	for _, check := range []func() error{pl.tellChanges, pl.checkFlags, pl.checkPlan, pl.checkOwnModels, pl.checkWorkspace, func() error { return pl.checkSandbox(ctx) }, pl.checkSkills, pl.checkPrice} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return pl, nil
}

// say prints a line that the user should know, once.
func (pl *plan) say(format string, args ...any) {
	line := "perstack: " + terminal.CleanLine(fmt.Sprintf(format, args...))
	if !pl.said[line] {
		pl.said[line] = true
		fmt.Fprintln(pl.opts.Host.Stderr, line)
	}
}

func (pl *plan) checkModel() error {
	switch {
	case pl.opts.Flags.Setting.Cassette != "" && pl.resolved.Provider != "replay":
		return host.Usagef("--cassette goes with --provider replay, not %s", pl.resolved.Provider)
	case pl.resolved.Provider == "replay" && pl.opts.Flags.Model != "":
		return host.Usagef("--model does not go with the provider replay: a cassette has no models to choose from")
	case pl.resolved.Provider == "replay":
		pl.resolved.Model = model.DefaultModel("replay")
	}
	return nil
}

// expert finds the Expert to run.
func (pl *plan) expert() (*expert.Expert, error) {
	e, err := host.FindExpert(pl.project.config, pl.target.expertKey)
	if err != nil {
		return nil, host.Usagef("%w%s", err, pl.nameFirst())
	}
	config := pl.project.config
	closure, _ := config.Closure(e)
	problems := host.Refused(config, pl.resolved.Settings, pl.project.lock, pl.project.lockErr, closure)
	for _, w := range problems.Warnings() {
		fmt.Fprintln(pl.opts.Host.Stderr, "perstack: "+terminal.Clean(host.Advise(w.String())))
	}
	if err := problems.Err(); err != nil {
		return nil, host.AddConfigToError(&host.ExitError{Code: host.ExitUsage, Err: err}, pl.opts.Config, pl.dockerOnly())
	}
	pl.lock = pl.project.lock
	return e, nil
}

// nameFirst helps those who meant a query for the job that they continue: a single argument
// is the name of an Expert.
func (pl *plan) nameFirst() string {
	if !pl.opts.continues() || pl.opts.Expert == "" || pl.opts.HasQuery {
		return ""
	}
	return "; the query comes after the name of the expert: perstack run <expert> <query>"
}

// checkOwnModels compares the flags for provider and model with the Experts that name their
// own, which the flags do not change. The user must know before the conversation goes elsewhere.
func (pl *plan) checkOwnModels() error {
	flags := pl.opts.Flags
	for _, e := range pl.spec.Experts {
		use := pl.spec.ModelOf(e)
		var flag string
		switch {
		case flags.Provider != "" && use.Provider != flags.Provider:
			flag = "--provider " + flags.Provider
		case flags.Model != "" && use.Model != flags.Model:
			flag = "--model " + flags.Model
		default:
			continue
		}
		text := fmt.Sprintf("expert %s uses %s of %s, as %s says, and not %s", e.Key, use.Model, use.Provider, pl.project.config.Path, flag)
		if e == pl.spec.Coordinator() {
			return host.Usagef("%s; leave the flag out, or remove the model and the provider from the table of the expert", terminal.CleanLine(text))
		}
		pl.say("%s", text)
	}
	return nil
}

// checkPrice wants the price of every model when the cost is limited.
func (pl *plan) checkPrice() error {
	s, config := &pl.spec, pl.project.config
	if unpriced := s.Unpriced(model.PriceOf); len(unpriced) > 0 {
		return host.Usagef("%s limits the cost, but what the model %q costs is not known; write it into %s, in US dollars for a million tokens, like:\n"+
			"[prices.%q]\ninput = 3.00\noutput = 15.00", pl.costLimitedBy(), unpriced[0], terminal.CleanLine(config.Path), unpriced[0])
	}
	if !s.LimitsCost() {
		return nil
	}
	for _, use := range s.ModelUses() {
		list, known := model.PriceOf(use.Provider, use.Model)
		if own, ours := s.Prices[use.Model]; known && ours && own != list {
			// The author of the file decides by it how much a limit on cost lets through.
			pl.say("cost is counted by the prices of %s, not by the list prices of %s", config.Path, use.Model)
		}
	}
	return nil
}

// costLimitedBy names the limit on cost.
func (pl *plan) costLimitedBy() string {
	if pl.spec.Limits.MaxCost > 0 {
		return pl.limitedBy("maxCost", "--max-cost")
	}
	for _, e := range pl.spec.Experts {
		if e.MaxCost > 0 {
			return "maxCost of expert " + e.Key
		}
	}
	return ""
}

// limitedBy names a limit of the job by where it was set.
func (pl *plan) limitedBy(key, flag string) string {
	switch pl.resolved.From(key) {
	case job.File:
		return key
	case job.Record:
		return flag + " of the previous run"
	}
	return flag
}

// checkSkills reports what would keep the skills of an Expert, or of one that it can
// delegate to, from starting: all of it, before anything is started. It puts the lockfile
// into the Spec.
func (pl *plan) checkSkills() error {
	if err := pl.checkEnv(); err != nil {
		return err
	}
	pl.tellFile()
	if pl.lock != nil {
		pl.spec.Lock, pl.spec.LockPath = string(pl.lock.Encode()), pl.lock.Path
	}
	return nil
}

func (pl *plan) dockerOnly() bool { return pl.project.dockerOnly(pl.resolved.Settings) }

// tellFile says what the user would not expect of the file: that another program
// serves the base tools, and which skills get the key of a provider. No skill can have the
// key of the provider in use, but the file decides which one that is.
func (pl *plan) tellFile() {
	for _, e := range pl.spec.Experts {
		lines := host.HandedKeys(e)
		if k, ok := e.Skill(expert.BaseSkill); ok && !k.BuiltIn {
			lines = append(lines, "the base tools are served by "+host.Behind(k))
		}
		for _, line := range lines {
			pl.say("%s, as %s says", line, pl.project.config.Path)
		}
	}
}

// checkEnv reports variables that skills require and cannot have: those that are not set,
// and the key of the provider in use, which a flag can have chosen.
func (pl *plan) checkEnv() error {
	problems := manifest.RefusedEnv(&pl.spec)
	for _, e := range pl.spec.Experts {
		problems = append(problems, e.MissingEnv(pl.project.env.Get)...)
	}
	if err := problems.Err(); err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return nil
}
