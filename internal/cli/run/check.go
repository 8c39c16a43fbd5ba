package run

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

// The values of --output and --events.
const (
	outputJSON     = "json"
	outputText     = "text"
	outputProgress = "progress"
	outputView     = "view" // no value of the flag: see [View]
	eventsFull     = "full"
	eventsLean     = "lean"
)

// check refuses flags that make no sense, before anything is read or started.
func (o *Options) check() error {
	if o.Flags.Runtime == "perstack" { // its older name
		o.Flags.Runtime = job.Local
	}
	for _, flag := range []struct {
		name, value string
		known       []string
	}{
		{"output", o.Output, []string{outputJSON, outputText, outputProgress}},
		{"events", o.Events, []string{eventsFull, eventsLean}},
		{"runtime", o.Flags.Runtime, []string{job.Local, job.Docker}},
		{"proxy", o.Flags.Isolation.Container.Proxy, []string{job.ProxyBuiltin, job.ProxySquid}},
	} {
		if flag.value != "" && !slices.Contains(flag.known, flag.value) {
			return host.Usagef("--%s %q cannot be used; use %s", flag.name, flag.value, wording.Or(flag.known))
		}
	}
	if _, err := o.Host.Sandbox(""); err != nil {
		return err
	}
	if image := o.Flags.Isolation.Container.BaseImage; image != "" {
		if message, hint := manifest.ImageReference(image); message != "" {
			return host.Usagef("--base-image: %s; %s", message, hint)
		}
	}
	switch {
	case o.Temperature != "":
		return host.Usagef("--temperature is not sent: many models refuse one, and others take it only without reasoning; " +
			"if yours takes it, add it to the requests with extraBody in [provider.setting], as docs/providers.md shows")
	case o.HasQuery && o.QueryFile != "":
		return host.Usagef("the query is given twice; leave out the argument or --query-file")
	case len(o.Attach) > job.MaxAttachments:
		return host.Usagef("--attach is given %d times; a query can have %d files", len(o.Attach), job.MaxAttachments)
	case len(o.Attach) > 0 && o.IsAnswer:
		return host.Usagef("--attach goes with a query, and -i gives an answer; leave one of them out")
	case len(o.Attach) > 0 && o.continues() && !o.HasQuery && o.QueryFile == "":
		return host.Usagef("--attach goes with a query; add one, or leave --attach out to resume the job")
	case o.Continue && o.ContinueJob != "":
		return host.Usagef("--continue and --continue-job exclude each other; give one")
	case o.continues() && o.JobID != "":
		return host.Usagef("--job-id names a new job and cannot be given when one is continued")
	case o.TrustHistory && !o.continues():
		return host.Usagef("--trust-history is for a job that is continued; add --continue or --continue-job")
	case o.RestoreFiles && o.ResumeFrom == "":
		return host.Usagef("--restore-files goes with --resume-from, which names the checkpoint")
	case o.RestoreFiles && o.MoveWorkspace:
		return host.Usagef("--restore-files does not go with --move-workspace: files are restored where they were; restore them there first, with perstack restore")
	case o.IsAnswer && !o.continues():
		return host.Usagef("-i answers a job that waits; add --continue or --continue-job")
	}
	for flag, id := range map[string]string{"--job-id": o.JobID, "--run-id": o.RunID, "--continue-job": o.ContinueJob, "--resume-from": o.ResumeFrom} {
		if id == "" {
			continue
		}
		if err := store.CheckID(id); err != nil {
			return host.Usagef("%s: %w", flag, err)
		}
	}
	return nil
}

// checkFlags refuses flags that do not go with the runtime in use, and variables that
// commands cannot have, before the daemon is asked for anything.
func (pl *plan) checkFlags() error {
	runtime, is := pl.spec.Runtime, pl.opts.Flags.Isolation
	if runtime != job.Docker {
		for _, flag := range []struct {
			name  string
			given bool
		}{
			{"--env", len(is.Env) > 0}, {"--base-image", is.Container.BaseImage != ""}, {"--read-only-workspace", is.Container.ReadOnlyWorkspace},
			{"--offline", is.Container.Offline}, {"--shared-sandbox", is.SharedSandbox}, {"--proxy", is.Container.Proxy != ""},
		} {
			if flag.given {
				return host.Usagef("%s goes with --runtime docker, not %s", flag.name, runtime)
			}
		}
		return nil
	}
	if is.Sandbox != "" {
		return host.Usagef("--sandbox is not needed with runtime docker, where every skill has a sandbox; leave it out")
	}
	if given := host.ReachFlags(is.Reach); len(given) > 0 {
		return host.Usagef("%s goes with --runtime local, not %s", given[0], runtime)
	}
	return pl.checkHanded(is.Env)
}

// checkPlan says if the job only plans. One that is continued can have started so.
func (pl *plan) checkPlan() error {
	var from engine.State
	forgets := pl.opts.TrustHistory // also that a plan was accepted
	again := false
	if h := pl.target.history; h != nil {
		again = pl.opts.ResumeFrom == "" && h.PlansAtBeginning()
		if point, ok := h.Origin(pl.opts.ResumeFrom); ok {
			from = h.Root(point).State
		}
	}
	switch asked := pl.spec.Approvals.Plan; {
	case asked && from.PlanAccepted() && !forgets && !pl.opts.HasQuery && pl.opts.QueryFile == "":
		return host.Usagef("the plan of job %s was accepted; give a new query to plan again, or leave out --plan", pl.target.jobID)
	case asked || again || from.Planning() || forgets && from.PlanAccepted():
		pl.say("the job only plans: it can change no file until you accept a plan")
	}
	return nil
}

// checkHanded refuses variables that commands may not have, or that are not set. What
// was given is repeated only if it is the name of a variable: it may be a value, by
// mistake, or come from the journal of another user.
func (pl *plan) checkHanded(names []string) error {
	models := pl.spec.ModelUses()
	var unset []string
	seen := make(map[string]bool)
	for i, name := range names {
		upper := strings.ToUpper(name)
		keyOf := slices.IndexFunc(models, func(m job.ModelUse) bool { return slices.Contains(model.KeyEnv(m.Provider), upper) })
		before, _, assigns := strings.Cut(name, "=")
		switch {
		case assigns && isVariable(before):
			return host.Usagef("--env takes the name of a variable alone, and its value from your environment or an env file; write --env %s", before)
		case !isVariable(name):
			return host.Usagef("--env number %d is not the name of a variable; write --env NAME, without $ and value", i+1)
		case env.Protected(name):
			return host.Usagef("--env %s: the variable is protected, since the runtime sets it; leave it out", name)
		case strings.HasPrefix(upper, "PERSTACK_"):
			return host.Usagef("--env %s: the variable belongs to perstack itself, and commands cannot have it; leave it out", name)
		case keyOf >= 0:
			return host.Usagef("--env %s: the variable is the key of provider %s, and commands cannot have it; leave it out", name, models[keyOf].Provider)
		case pl.project.env.Get(name) == "" && !seen[name]:
			unset = append(unset, name)
		}
		seen[name] = true
	}
	if len(unset) > 0 {
		return host.Usagef("--env: not set in the environment or an env file, or empty: %s; set it, or leave it out", strings.Join(unset, ", "))
	}
	return nil
}

// variableName matches names of variables that every shell takes.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

func isVariable(name string) bool { return variableName().MatchString(name) }

// flags are the settings that the user gives, by flags or in the environment.
func (o *Options) flags() job.Flags {
	all := o.Flags
	if level, err := o.Host.Sandbox(all.Isolation.Sandbox); err == nil { // check has refused others
		all.Isolation.Sandbox = level
	}
	return all
}

// continues reports whether the run continues a recorded job.
func (o *Options) continues() bool {
	return o.Continue || o.ContinueJob != "" || o.ResumeFrom != ""
}
