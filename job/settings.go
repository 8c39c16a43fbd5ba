package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
)

// Settings are what a flag, perstack.toml, a recorded job and a default can all say about a
// job. Zero fields say nothing.
type Settings struct {
	Provider string         `json:"provider,omitzero"`
	Model    string         `json:"model,omitzero"`
	Setting  expert.Setting `json:"setting,omitzero"` // of Provider, and never used with another one

	Reasoning expert.ReasoningBudget `json:"reasoning,omitzero"`
	// ReasoningDefault says that Reasoning is only the default: a model that cannot reason
	// ignores it without a warning.
	ReasoningDefault bool `json:"reasoningDefault,omitzero"`

	Limits Limits `json:"limits,omitzero"`

	Runtime   string    `json:"runtime,omitzero"`
	Isolation Isolation `json:"isolation,omitzero"`

	Approvals Approvals `json:"approvals,omitzero"`
	Snapshots Snapshots `json:"snapshots,omitzero"`
}

// Flags are the settings that the user gives for one run. They can also take a restriction
// away, which neither a file nor a record can.
type Flags struct {
	Settings
	WritableWorkspace bool // although the job had a read-only one
	// User is what the user's own configuration says about isolation, approvals and snapshots, for
	// all projects, with the rules of the machine. Flags are stronger, and a file can tighten it.
	User Settings
}

// A Layer says where a setting comes from.
type Layer int

// The layers, the weakest first.
const (
	Default Layer = iota
	Record
	File
	Flag
	User // instead of File, where the user's own configuration is at least as strict
)

// Resolved are the settings of a job, and where each comes from.
type Resolved struct {
	Settings
	from  map[string]Layer
	named Reach         // what the user opens
	usual SandboxLimits // what programs can use unless a file says otherwise
	store Snapshots     // what is stored unless a file says otherwise
}

// UsualSnapshots are the settings of snapshots where perstack.toml says nothing.
func (r *Resolved) UsualSnapshots() Snapshots { return r.store }

// UsualLimits are the limits of sandboxes where perstack.toml and a record say nothing.
func (r *Resolved) UsualLimits() SandboxLimits { return r.usual.Or(DefaultSandboxLimits()) }

// Opened reports whether the user opens a path to programs in sandboxes, for reading or for
// writing. What can be changed can be read.
func (r *Resolved) Opened(path string, write bool) bool {
	return slices.Contains(r.named.Write, path) || !write && slices.Contains(r.named.Read, path)
}

// From returns the layer that a setting comes from, by its name in perstack.toml: "model",
// "runtime", "sandbox", "network", "baseImage", "readOnlyWorkspace", "env", or the name of a limit.
func (r *Resolved) From(name string) Layer { return r.from[name] }

// Resolve decides each setting of a job: the flag, else perstack.toml, else what the
// resumed job recorded, else the default. Limits, isolation, approvals and snapshots of a resumed
// job are the stricter of file and record, and only a flag relaxes them. A journal can be
// forged, so a record never adds a right, and names only known providers.
//
// recorded is zero for a new job.
func Resolve(flags Flags, file, recorded Settings, known Catalogue) Resolved {
	r := Resolved{from: make(map[string]Layer)}
	r.model(flags, file, recorded, known)
	r.limits(flags, file, recorded, known.DefaultTimeout(r.Provider))
	r.isolation(flags, file, recorded)
	r.approvals(flags, file.Approvals, recorded.Approvals)
	r.snapshots(flags.User.Snapshots, file.Snapshots, recorded.Snapshots)
	return r
}

// A Catalogue is what Resolve has to know of providers.
type Catalogue interface {
	// Known reports whether there is such a provider.
	Known(provider string) bool
	// DefaultModel returns the model that is used when none is named; "" if there is none.
	DefaultModel(provider string) string
	// DefaultTimeout returns the time limit of one generation if none is given; 0 if that is
	// the usual one.
	DefaultTimeout(provider string) time.Duration
	// Fits reports whether a name can be that of a model of the provider.
	Fits(provider, model string) bool
}

// DefaultProvider is used when nothing names one.
const DefaultProvider = "anthropic"

// model decides where the conversation goes. It must not go to another company because a
// flag was not repeated.
func (r *Resolved) model(flags Flags, file, recorded Settings, known Catalogue) {
	if !known.Known(recorded.Provider) {
		recorded.Provider, recorded.Model = "", ""
	}
	r.Provider = first(r, "provider", flags.Provider, file.Provider, recorded.Provider, DefaultProvider)
	if r.Provider != recorded.Provider {
		recorded.Model = "" // it belongs to another provider
	}
	if recorded.Model != "" && file.Provider == "" && !known.Fits(r.Provider, file.Model) {
		file.Model = "" // the file means the default provider's model
	}
	r.Model = first(r, "model", flags.Model, file.Model, recorded.Model, known.DefaultModel(r.Provider))
	if file.Provider == r.Provider {
		r.Setting = file.Setting
	}
	if flags.Setting.Cassette != "" {
		r.Setting.Cassette = flags.Setting.Cassette
	}
	chosen := cmp.Or(flags.Reasoning, file.Reasoning)
	r.Reasoning, r.ReasoningDefault = cmp.Or(chosen, expert.DefaultReasoningBudget), chosen == ""
}

func (r *Resolved) limits(flags Flags, file, recorded Settings, timeout time.Duration) {
	for _, l := range limits {
		if l.Name == "timeout" && timeout > 0 {
			l.Default = timeout.Seconds()
		}
		flag, said, had := l.Value(&flags.Limits), l.Value(&file.Limits), l.within(l.Value(&recorded.Limits))
		value, from := l.Default, Default
		switch stricter := l.stricter(said, had); {
		case flag != 0:
			value, from = flag, Flag
		case stricter != 0 && stricter == said:
			value, from = said, File
		case stricter != 0:
			value, from = had, Record
		}
		l.Set(&r.Limits, value)
		r.from[l.Name] = from
	}
}

func (r *Resolved) isolation(flags Flags, file, recorded Settings) {
	if recorded.Runtime != Local && recorded.Runtime != Docker {
		recorded.Runtime = ""
	}
	r.Runtime = first(r, "runtime", flags.Runtime, file.Runtime, recorded.Runtime, Local)
	if flags.Runtime == "" && recorded.Runtime == Docker {
		r.Runtime = first(r, "runtime", "", "", Docker, "") // the stricter of the two
	}
	had := recorded.Isolation
	if recorded.Runtime != r.Runtime {
		had = Isolation{} // it describes another place
	}
	is := Isolation{
		SharedSandbox: flags.Isolation.SharedSandbox,
		Env:           sortedNames(flags.Isolation.Env),
		Container:     file.Isolation.Container,
	}
	if len(is.Env) > 0 {
		r.from["env"] = Flag
	} else if is.Env = sortedNames(had.Env); len(is.Env) > 0 {
		r.from["env"] = Record
	}
	c := &is.Container
	c.BaseImage = first(r, "baseImage", flags.Isolation.Container.BaseImage, c.BaseImage, had.Container.BaseImage, "")
	c.ReadOnlyWorkspace = first(r, "readOnlyWorkspace", flags.Isolation.Container.ReadOnlyWorkspace, c.ReadOnlyWorkspace,
		had.Container.ReadOnlyWorkspace && !flags.WritableWorkspace, false)
	c.Offline = c.Offline || flags.Isolation.Container.Offline
	c.Proxy = first(r, "proxy", flags.Isolation.Container.Proxy, c.Proxy, "", "")
	if r.Runtime == Docker {
		*c = c.Or(DefaultContainer())
	} else {
		is.Container, is.Env, is.SharedSandbox = Container{}, nil, false
	}
	r.Isolation = is
	switch r.Runtime {
	case Local:
		r.sandbox(flags, file.Isolation, had)
	case Docker: // the container limits the rest
		r.Isolation.SandboxLimits.DiskGrowth = file.Isolation.SandboxLimits.stricter(had.SandboxLimits).DiskGrowth
	}
}

// first returns the first of four values that says something, and notes which one it is.
func first[T comparable](r *Resolved, name string, flag, file, recorded, otherwise T) T {
	var nothing T
	for i, value := range []T{flag, file, recorded} {
		if value != nothing {
			r.from[name] = Flag - Layer(i)
			return value
		}
	}
	r.from[name] = Default
	return otherwise
}
