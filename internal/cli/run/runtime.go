package run

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hatch"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store/file"
)

// place returns what the Expert runs in: this process, or a container.
func (s *setup) place(e *expert.Expert, lock *lockfile.Lock, history *file.Store) (runtimes.Runtime, error) {
	if s.runtime == expert.DockerRuntime {
		return s.container(e, lock, history)
	}
	thinker, err := s.model(e)
	if err != nil {
		return nil, err
	}
	h := s.opts.Host
	return &local.Runtime{
		Model:     thinker,
		Store:     history,
		Source:    h.Source,
		Log:       s.opts.logger(),
		Workspace: s.workspace,
		Protected: s.protected(),
		ReadOnly:  s.rules(),
		Environ:   h.Environ,
		Lock:      lock,
		Env:       s.env.Get,
		CacheDir:  h.CachePath(),
		Redact:    h.Secrets.Redact,
		Hide:      h.Secrets.Add,
		Cells:     s.cells(e),

		MaxWorkspaceBytes: s.maxBytes(),
		OneCallAtATime:    h.Reproducible,
	}, nil
}

// dockerOnly reports whether the Expert runs behind a wall that the file does not ask for:
// then the advice to install has to say so, or images stay without a pin.
func (s *setup) dockerOnly() bool {
	return s.runtime == expert.DockerRuntime && s.config.Runtime != expert.DockerRuntime
}

// protected are the paths that no tool may reach.
func (s *setup) protected() []string {
	return append(slices.Clip(s.envFiles), s.opts.Host.StoragePath(s.opts.Storage))
}

// container returns the runtime behind a wall. Everything that would keep the Expert from
// being reached, or from reaching its provider, is said here.
func (s *setup) container(e *expert.Expert, lock *lockfile.Lock, history *file.Store) (runtimes.Runtime, error) {
	h := s.opts.Host
	experts, _ := s.config.Closure(e)
	choice, err := s.choice()
	if err != nil {
		return nil, err
	}
	parcel, err := providers.Pack(choice, experts)
	if err == nil {
		err = providers.CheckWall(s.provider, parcel.URLs)
	}
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	if err := s.checkUpstream(parcel.Upstream); err != nil {
		return nil, err
	}
	// The container must not see the history, and what is not there cannot be hidden.
	if err := history.Prepare(); err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("which program this is cannot be told: %w", err)
	}
	handed := make(map[string]string)
	for _, name := range s.handed() {
		handed[name] = h.Getenv(name)
		h.Secrets.AddIfRandom(name, handed[name])
	}
	r := &docker.Runtime{
		Store:  history,
		Source: h.Source,
		Log:    s.opts.logger(),

		Getenv:     h.Getenv,
		Home:       h.Home,
		Executable: executable,
		Limits:     s.walls(),

		Workspace: s.workspace,
		Protected: s.protected(),
		ReadOnly:  s.rules(),
		Config:    s.config,
		Lock:      lock,

		Thinker:  s.thinker(parcel),
		Origins:  parcel.URLs,
		Upstream: parcel.Upstream,

		Env:     s.env.Get,
		Handed:  handed,
		Secrets: h.Secrets.Within,
		Redact:  h.Secrets.Redact,

		CacheDir:   h.CachePath(),
		Environ:    h.Environ,
		SharedCell: s.opts.SharedCell,

		MaxWorkspaceBytes: s.maxBytes(),
		OneCallAtATime:    h.Reproducible,
		Verbose:           s.opts.Verbose,
	}
	if image := r.Limits.BaseImage; image != "" && image == s.config.Docker.BaseImage && s.opts.BaseImage == "" {
		fmt.Fprintf(h.Stderr, "perstack: the container stands on the image %s, as %s says\n", terminal.CleanLine(image), terminal.CleanLine(s.config.Path))
	}
	if s.opts.SharedCell {
		fmt.Fprintln(h.Stderr, "perstack: "+sharedCell)
	}
	return r, nil
}

// walls are the limits of the container: as flags say, else as the file does, else as they
// were before, else as usual.
func (s *setup) walls() expert.Docker {
	d := s.config.Docker
	d.BaseImage = cmp.Or(s.opts.BaseImage, d.BaseImage, s.kept.BaseImage)
	d.ReadOnlyWorkspace = d.ReadOnlyWorkspace || s.opts.ReadOnlyWorkspace || s.kept.ReadOnlyWorkspace
	d.Offline = d.Offline || s.opts.Offline
	d.Proxy = cmp.Or(s.opts.Proxy, d.Proxy)
	return d.Or(expert.DefaultDocker())
}

// handed are the names of the variables that commands in the container get.
func (s *setup) handed() []string {
	if len(s.opts.Env) > 0 {
		return s.opts.Env
	}
	return s.kept.Env
}

// chosen is what is recorded of the walls, for whoever goes on with the job: what somebody
// chose, or nil.
func (s *setup) chosen() *event.Walls {
	if s.runtime != expert.DockerRuntime {
		if s.sandbox() {
			return &event.Walls{Sandbox: true}
		}
		return nil
	}
	d, names := s.walls(), slices.Compact(slices.Sorted(slices.Values(s.handed())))
	proxy := d.Proxy
	if proxy == expert.ProxyBuiltin {
		proxy = ""
	}
	if d.BaseImage == "" && !d.ReadOnlyWorkspace && len(names) == 0 && !s.opts.SharedCell && proxy == "" {
		return nil
	}
	return &event.Walls{ReadOnlyWorkspace: d.ReadOnlyWorkspace, BaseImage: d.BaseImage, Env: names, SharedCell: s.opts.SharedCell, Proxy: proxy}
}

// thinker is the model and what it takes to reach it, for the container.
func (s *setup) thinker(p *providers.Parcel) hatch.Thinker {
	t := hatch.Thinker{
		Provider: s.provider, Model: s.modelName, Cassette: s.setting().Cassette, Reasoning: s.asked,
		Variables: make(map[string]hatch.Variable),
	}
	for name, v := range p.Variables {
		t.Variables[name] = hatch.Variable{Value: v.Value, File: v.File}
	}
	for path, data := range p.Files {
		t.Files = append(t.Files, hatch.File{Path: path, Data: data})
	}
	slices.SortFunc(t.Files, func(a, b hatch.File) int { return strings.Compare(a.Path, b.Path) })
	return t
}
