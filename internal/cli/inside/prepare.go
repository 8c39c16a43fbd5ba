package inside

import (
	"fmt"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hatch"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/model"
)

// runtimeName is what is recorded of a job that runs here.
const runtimeName = "docker"

// prepare makes of the document what the built-in runtime is given elsewhere by flags and
// files. The host has checked all of it; what is wrong here comes of another version.
func (w *work) prepare() (*local.Runtime, engine.Job, error) {
	d := w.document
	config, problems := manifest.Parse(d.Config.Path, d.Config.Data)
	if err := problems.Err(); err != nil {
		return nil, engine.Job{}, err
	}
	if err := w.hideProject(config); err != nil {
		return nil, engine.Job{}, err
	}
	e, ok := config.Lookup(d.Job.Expert)
	if !ok {
		return nil, engine.Job{}, fmt.Errorf("expert %q not found in %s", d.Job.Expert, d.Config.Path)
	}
	var lock *lockfile.Lock
	if d.Lock != nil {
		var err error
		if lock, err = lockfile.Parse(d.Lock.Path, d.Lock.Data); err != nil {
			return nil, engine.Job{}, err
		}
	}
	thinker, err := w.model(config, e)
	if err != nil {
		return nil, engine.Job{}, err
	}
	return &local.Runtime{
		Model:     thinker,
		Store:     w.conn.Store(),
		Source:    w.host.Source,
		Log:       w.logger(),
		Workspace: d.Work.Dir,
		Protected: d.Work.Hidden,
		ReadOnly:  d.Work.ReadOnly,
		Environ:   w.environ(),
		Lock:      lock,
		Env:       func(name string) string { return d.Work.Required[name] },
		Gates:     func(expertKey, skill string) string { return d.Confines.Gates[hatch.GateName(expertKey, skill)] },
		Through:   w.way,
		Handed:    d.Work.Handed,
		Roots:     d.Confines.Roots,
		Sealed:    d.Confines.Packages,
		Redact:    w.host.Secrets.Redact,

		Cells:      w.cells(),
		SharedCell: d.Confines.SharedCell,

		MaxWorkspaceBytes: d.Work.MaxBytes,
		OneCallAtATime:    d.Work.OneCall,
	}, w.job(config, e), nil
}

// environ are the variables of commands. Where programs are, the image knows, unless the
// host says it.
func (w *work) environ() []string {
	path := "PATH=" + w.host.Getenv("PATH")
	return append([]string{path}, w.document.Work.Env...) // the last of two counts
}

// model opens the model that thinks, with what came along and nothing else.
func (w *work) model(config *manifest.Config, e *expert.Expert) (model.Model, error) {
	t := w.document.Thinker
	parcel := &providers.Parcel{
		Variables: make(map[string]providers.Variable, len(t.Variables)),
		Files:     make(map[string][]byte, len(t.Files)),
	}
	for name, v := range t.Variables {
		parcel.Variables[name] = providers.Variable{Value: v.Value, File: v.File}
	}
	for _, f := range t.Files {
		parcel.Files[f.Path] = f.Data
	}
	var setting expert.Setting
	if config.Provider.Name == t.Provider {
		setting = config.Provider.Setting
	}
	if t.Cassette != "" {
		setting.Cassette = t.Cassette
	}
	experts, _ := config.Closure(e)
	return providers.OpenTeam(parcel.Unpack(providers.Choice{
		Provider:  t.Provider,
		Model:     t.Model,
		Setting:   setting,
		Entry:     config.Models[t.Model],
		Config:    config.Path,
		Proxy:     w.way,
		OwnTools:  true,
		Reasoning: t.Reasoning,
		Hide:      w.host.Secrets.Add,
	}), experts)
}

// job is what is asked of the engine.
func (w *work) job(config *manifest.Config, e *expert.Expert) engine.Job {
	j, t := w.document.Job, w.document.Thinker
	job := engine.Job{
		ID:     j.ID,
		RunID:  j.RunID,
		Expert: e,
		Input:  engine.Input{Query: j.Query, Continue: j.Continue, From: j.From, Answer: j.Answer},
		Lookup: config.Lookup,

		Limits:      expert.Limits{MaxSteps: j.MaxSteps, MaxTokens: j.MaxTokens, MaxCost: j.MaxCost, MaxDuration: milliseconds(j.MaxDuration)},
		MaxDepth:    j.MaxDepth,
		MaxParallel: j.MaxParallel,
		MaxRetries:  j.MaxRetries,
		Timeout:     milliseconds(j.Timeout),
		Reasoning:   j.Reasoning,
		MaxOutput:   j.MaxOutput,

		Experts:       j.Experts,
		Provider:      t.Provider,
		ModelName:     t.Model,
		ContextWindow: j.ContextWindow,
		Runtime:       runtimeName,
		Walls:         j.Walls,
		Version:       version.String(),
	}
	if j.Priced {
		job.Price = func(provider, name string) (expert.Price, bool) {
			if p, ok := config.Prices[name]; ok {
				return p, true
			}
			return model.PriceOf(provider, name)
		}
	}
	return job
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// listener tells the host what is not recorded. What is, the host has written itself.
func (w *work) listener() engine.Listener {
	return engine.Listener{Emit: func(e event.Event) error {
		if e.IsKept() {
			return nil
		}
		shown, err := event.Marshal(e)
		if err != nil {
			return err
		}
		return w.voice.say(hatch.Up{Show: shown})
	}}
}
