package docker

import (
	"crypto/rand"
	"maps"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hatch"
	"github.com/perstack-go/perstack/internal/version"
)

// Where things are in the container.
const (
	workDir = "/workspace"
	homeDir = "/home/perstack"

	// defaultPath is where commands are looked for.
	defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// engineGate is the name of the engine's own gate.
const engineGate = "engine"

// experts are all that may act in the job.
func (r *Runtime) experts(job engine.Job) []*expert.Expert {
	if job.Expert == nil {
		return nil
	}
	experts, _ := r.Config.Closure(job.Expert)
	return experts
}

// gates are the doors of the proxy. That of the engine leads to the provider and to remote
// skills. Every skill that is started as a program has one of its own, and so have the
// commands of each Expert, also if it leads nowhere: what is refused there is recorded.
func (r *Runtime) gates(job engine.Job) []egress.Gate {
	own := egress.Gate{Name: engineGate, Token: rand.Text()}
	origins := slices.Clone(r.Origins)
	var others []egress.Gate
	for _, e := range r.experts(job) {
		base := egress.Gate{Name: hatch.GateName(e.Key, expert.BaseSkill), Token: rand.Text()}
		for _, k := range e.Skills {
			switch {
			case k.Endpoint != "":
				origins = append(origins, k.Endpoint)
			case k.IsBase():
				base.Allow = k.AllowedDomains
			case k.Type == expert.StdioSkill:
				others = append(others, egress.Gate{Name: hatch.GateName(e.Key, k.Name), Allow: k.AllowedDomains, Token: rand.Text()})
			}
		}
		others = append(others, base)
	}
	own.Allow = providers.Hosts(origins)
	return append([]egress.Gate{own}, others...)
}

// document is what goes into the container.
func (r *Runtime) document(job engine.Job, site *Site, spec SiteSpec) *hatch.Document {
	d := &hatch.Document{
		Protocol: hatch.Protocol,
		Version:  version.String(),
		Config:   hatch.File{Path: r.Config.Path, Data: r.Config.Source()},
		Job: hatch.Job{
			ID: job.ID, RunID: job.RunID, Expert: job.Expert.Key,
			Query: job.Input.Query, Continue: job.Input.Continue, From: job.Input.From, Answer: job.Input.Answer,
			MaxSteps: job.Limits.MaxSteps, MaxTokens: job.Limits.MaxTokens, MaxCost: job.Limits.MaxCost, MaxDuration: job.Limits.MaxDuration.Milliseconds(),
			MaxDepth: job.MaxDepth, MaxParallel: job.MaxParallel, MaxRetries: job.MaxRetries, Timeout: job.Timeout.Milliseconds(),
			Reasoning: job.Reasoning, MaxOutput: job.MaxOutput, Priced: job.Price != nil,
			Experts: job.Experts, ContextWindow: job.ContextWindow, Walls: job.Walls,
		},
		Thinker: r.Thinker,
		Work: hatch.Work{
			Dir: workDir, ReadOnly: spec.Frozen, Hidden: spec.Masked, MaxBytes: r.MaxWorkspaceBytes,
			Env:      []string{"HOME=" + homeDir, "TMPDIR=/tmp", "LANG=C.UTF-8", "TERM=dumb"},
			OneCall:  r.OneCallAtATime,
			Required: r.required(job),
			Handed:   r.Handed,
		},
		Confines: hatch.Confines{
			Engine: site.Gates[engineGate], Gates: maps.Clone(site.Gates), Gateway: site.Gateway,
			Masked: spec.Masked, ReadOnlyWork: spec.ReadOnly,
			SharedCell: r.SharedCell, Roots: rootsPath, Tokenless: spec.Tokenless(),
		},
		Verbose: r.Verbose,
	}
	delete(d.Confines.Gates, engineGate)
	if r.usesPackages(job) {
		d.Confines.Packages = skillsDir
	}
	if r.Lock != nil {
		d.Lock = &hatch.File{Path: r.Lock.Path, Data: r.Lock.Encode()}
	}
	d.Work.Secrets = r.Secrets(texts(d)...)
	return d
}

// required are the variables that skills of the job ask for.
func (r *Runtime) required(job engine.Job) map[string]string {
	values := make(map[string]string)
	for _, e := range r.experts(job) {
		for _, k := range e.Skills {
			for _, name := range k.RequiredEnv {
				values[name] = r.Env(name)
			}
		}
	}
	return values
}

// texts are all of a document that may hold a secret.
func texts(d *hatch.Document) []string {
	all := []string{string(d.Config.Data)}
	for _, v := range d.Thinker.Variables {
		all = append(all, v.Value)
	}
	for _, f := range d.Thinker.Files {
		all = append(all, string(f.Data))
	}
	for _, values := range []map[string]string{d.Work.Required, d.Work.Handed} {
		for _, v := range values {
			all = append(all, v)
		}
	}
	return all
}
