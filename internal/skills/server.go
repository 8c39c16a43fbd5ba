package skills

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/skills/mcp"
)

// options says how an MCP server is started or reached, and what it must offer.
func (s *set) options(k *expert.Skill, pinned *lockfile.Skill, from *skillPackage) (mcp.Options, error) {
	o := mcp.Options{
		Name:         k.Name,
		Commands:     s.site.Commands,
		StartTimeout: k.StartTimeout,
		CallTimeout:  k.CallTimeout,
		Report:       s.req.Report,
		Stop:         s.req.Stop,
		Changed:      func() { s.changes.report(k.Name) },
		Redact:       s.site.Parts.Secrets.Redact,
		Now:          s.site.Parts.Source.Now,
		Log:          s.site.Parts.Log,
	}
	if pinned != nil {
		o.Locked = LockedTools(pinned)
	} else {
		o.Background = k.LazyInit
	}
	if k.Type == expert.StdioSkill {
		o.Process = func(ctx context.Context) (mcp.Process, error) { return s.process(ctx, k, from) }
		return o, nil
	}
	remote, err := s.remote(k)
	o.Remote = remote
	return o, err
}

// process says how a server is started.
func (s *set) process(ctx context.Context, k *expert.Skill, from *skillPackage) (mcp.Process, error) {
	env, err := s.required(k)
	if err != nil {
		return mcp.Process{}, err
	}
	maps.Copy(env, s.proxyVariables(k.Name)) // last: no variable of the user can change the proxy
	in, workspace := s.sandboxOf(k), s.site.Workspace.Path()
	server := sandbox.Server{Dir: in.workDir(workspace), Environ: s.site.Parts.Environ, Set: in.variables(env)}
	process, err := s.program(ctx, k, from, server)
	if err != nil || in == nil {
		return process, err
	}
	port, err := s.proxyPort(k.Name)
	if err != nil {
		return mcp.Process{}, err
	}
	var store *packages.Store
	if from != nil {
		store = s.site.Packages
	}
	process.Server.Policy = in.policy(workspace, in.programFiles(process.Server, workspace, store), port)
	return process, nil
}

// program says which program a server is, and how it is shown.
func (s *set) program(ctx context.Context, k *expert.Skill, from *skillPackage, server sandbox.Server) (mcp.Process, error) {
	p, ok := k.Package()
	if !ok {
		argv, err := k.CommandLine()
		if err != nil {
			return mcp.Process{}, err
		}
		server.Program, server.Args = argv[0], argv[1:]
		return mcp.Process{Server: server, Command: argv[0], Args: argv[1:]}, nil
	}
	if from == nil { // uvx fetches packages itself
		server.Program, server.Args = p.Manager, commandLine(p, p.Version)
		// Building a package runs its author's code before the skill is used.
		server.Set["UV_NO_BUILD"] = "1"
		return mcp.Process{Server: server, Command: p.Manager, Args: server.Args}, nil
	}
	argv, version, err := from.install(ctx, s.site.Packages)
	if err != nil {
		return mcp.Process{}, err
	}
	server.Program, server.Args = argv[0], slices.Concat(argv[1:], p.Args)
	return mcp.Process{Server: server, Command: p.Manager, Args: commandLine(p, version)}, nil
}

// required returns the variables that a skill asks for. No other skill gets them. The names are
// checked when perstack.toml is read; an Expert that a program has made was not read from a file,
// so variables that decide how programs are loaded are refused here, too.
func (s *set) required(k *expert.Skill) (map[string]string, error) {
	values := make(map[string]string, len(k.RequiredEnv))
	for _, name := range k.RequiredEnv {
		if env.Protected(name) || strings.HasPrefix(strings.ToUpper(name), "PERSTACK_") {
			return nil, fmt.Errorf("%s cannot be handed to a skill; remove it from requiredEnv", name)
		}
		values[name] = s.env(name)
	}
	return values, nil
}

// commandLine returns the arguments of the package manager that start p in a version. It is made
// from the parsed package, never from the text of the file.
func commandLine(p expert.Package, version string) []string {
	if version != "" {
		p.Version, p.Tag = version, ""
	}
	args := []string{p.Spec()}
	if p.Program != "" {
		flag := "--package"
		if p.Manager == "uvx" {
			flag = "--from"
		}
		args = []string{flag, p.Spec(), p.Program}
	}
	return append(args, p.Args...)
}

// remote says how a server is reached. The client goes to its origin and nowhere else.
func (s *set) remote(k *expert.Skill) (*mcp.Remote, error) {
	origin, err := url.Parse(k.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("skill %q: %w", k.Name, err)
	}
	header, err := k.ResolvedHeaders(s.env)
	if err != nil {
		return nil, err
	}
	proxy, err := s.site.remoteProxy()
	if err != nil {
		return nil, err
	}
	return &mcp.Remote{
		Endpoint: k.Endpoint,
		Client:   egress.Client(egress.Policy{Origin: origin, AllowPrivate: k.AllowPrivateEndpoint, Proxy: proxy}),
		Header:   header,
		SSE:      k.Type == expert.SSESkill,
	}, nil
}

// A skillPackage is the package of a skill. It is fetched once: a server that is started again
// has the same version, even if the registry has a newer one by then.
type skillPackage struct {
	declared expert.Package
	report   func(string) // told what happens, for showing

	mu     sync.Mutex
	pinned *lockfile.Package // nil until it is known
	argv   []string          // how it is started; nil until it is installed
}

// packageOf returns the package of a skill; nil if perstack does not fetch it. Packages of uvx
// are used from the store only if it is sealed. Without a pin the package is resolved when it is
// installed.
func (s *set) packageOf(k *expert.Skill, pinned *lockfile.Package) *skillPackage {
	p, ok := k.Package()
	sealed := s.site.Packages != nil && s.site.Packages.Sealed
	if !ok || p.Manager != "npx" && !sealed {
		return nil
	}
	return &skillPackage{declared: p, pinned: pinned, report: func(text string) {
		s.req.Report(event.SkillStderr{SkillName: k.Name, Message: text})
	}}
}

var errNoStore = errors.New("there is no directory to keep packages in; set CacheDir")

// install fetches the package unless that was done before, and returns how it is started.
func (p *skillPackage) install(ctx context.Context, from *packages.Store) (argv []string, version string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from == nil || from.Dir == "" {
		return nil, "", errNoStore
	}
	if p.pinned == nil {
		if p.pinned, err = from.Resolve(ctx, p.declared, p.report); err != nil {
			return nil, "", err
		}
	}
	if p.argv == nil {
		if p.argv, err = from.Install(ctx, p.pinned, p.declared.Program, p.report); err != nil {
			return nil, "", err
		}
	}
	return p.argv, p.pinned.Version, nil
}
