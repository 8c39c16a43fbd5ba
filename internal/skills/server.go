package skills

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/skills/mcp"
)

// options says how an MCP server is started or reached, and what it must offer.
func (s *set) options(k *expert.Skill, pinned *lockfile.Skill, from *skillPackage) (mcp.Options, error) {
	o := mcp.Options{
		Name:         k.Name,
		Commands:     s.site.Commands,
		InImage:      s.site.Parts.Container != nil,
		StartTimeout: k.StartTimeout,
		CallTimeout:  k.CallTimeout,
		Clock:        s.clocks.of(k.Name),
		Report:       s.reportServer(k),
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
	start := &start{skill: k, server: sandbox.Server{Dir: workspace, Environ: s.site.Parts.Environ, Set: in.variables(env), Policy: s.off()}}
	if in != nil {
		start.server.Policy = nil // until the program is known, which it depends on
	}
	if in != nil && in.right == expert.WorkspaceNone {
		if start.server.Dir, err = start.data(s); err != nil {
			return mcp.Process{}, err
		}
	}
	process, err := s.program(ctx, start, from)
	if err != nil || in == nil {
		return process, err
	}
	port, err := s.proxyPort(k.Name)
	if err != nil {
		return mcp.Process{}, err
	}
	files := programPlaces(process.Server, in.visible(), in.excluded(workspace))
	if in.sandboxes.full != nil { // a script can start programs of the user too
		dirs, _ := searchPath(process.Server.Environ, in.visible(), in.excluded(workspace))
		files = append(files, dirs...)
	}
	reach, err := in.protect(ctx, in.policy(workspace, append(files, start.read...), port))
	if err != nil {
		return mcp.Process{}, err
	}
	if start.dir != "" {
		reach.Write = append(reach.Write, start.dir)
	}
	process.Server.Policy, process.Server.Accept = reach, s.serve(k, in)
	in.current.Store(reach)
	return process, nil
}

// A start is one start of a server.
type start struct {
	skill  *expert.Skill
	server sandbox.Server
	dir    string   // for data of the skill; empty if it needs none
	read   []string // what it reads besides
}

// data returns the directory for data of the skill, and makes it.
func (t *start) data(s *set) (string, error) {
	if t.dir == "" {
		dir, err := DataDir(s.site.Data, s.expert, t.skill, os.Geteuid(), os.Getegid())
		if err != nil {
			return "", err
		}
		t.dir = dir
	}
	return t.dir, nil
}

// program says which program a server is, and how it is shown.
func (s *set) program(ctx context.Context, t *start, from *skillPackage) (mcp.Process, error) {
	p, ok := t.skill.Package()
	if !ok {
		return s.command(t)
	}
	dir, err := t.data(s)
	if err != nil {
		return mcp.Process{}, err
	}
	if from == nil { // uvx fetches packages itself
		t.server.Program, t.server.Args = p.Manager, commandLine(p, p.Version)
		// Building a package runs its author's code before the skill is used.
		t.server.Set["UV_NO_BUILD"] = "1"
		// What uvx installs is written to by the skill, so no other skill uses it.
		t.server.Set["UV_CACHE_DIR"] = filepath.Join(dir, "uv")
		return mcp.Process{Server: t.server, Command: p.Manager, Args: t.server.Args}, nil
	}
	placed, version, err := from.place(ctx, s.site.Packages, dir)
	if err != nil {
		return mcp.Process{}, err
	}
	t.read = placed.Read
	t.server.Program, t.server.Args = placed.Argv[0], slices.Concat(placed.Argv[1:], p.Args)
	return mcp.Process{Server: t.server, Command: p.Manager, Args: commandLine(p, version)}, nil
}

// command says how a program of the machine is started.
func (s *set) command(t *start) (mcp.Process, error) {
	argv, err := t.skill.CommandLine()
	if err != nil {
		return mcp.Process{}, err
	}
	inWorkspace, err := s.verify(t.skill, argv)
	if err != nil {
		s.req.Stop(fmt.Errorf("skill %q: %w", t.skill.Name, err)) // no other call may try again
		return mcp.Process{}, err
	}
	if inWorkspace {
		// The digests leave compiled code out, so Python must find none, and leave none for the next
		// start. It can be started by any program, such as a shell. Nothing can be at this path.
		t.server.Set["PYTHONPYCACHEPREFIX"] = filepath.Join(os.DevNull, "pycache")
	}
	if !inWorkspace && programs.IsPython(argv) {
		// Otherwise a module of the workspace would come before those of the program.
		t.server.Set["PYTHONSAFEPATH"] = "1"
	}
	t.server.Program, t.server.Args = argv[0], argv[1:]
	return mcp.Process{Server: t.server, Command: argv[0], Args: argv[1:]}, nil
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

// place fetches the package unless that was done before, verifies it, and returns how it is
// started from a directory of the skill.
func (p *skillPackage) place(ctx context.Context, from *packages.Store, dir string) (placed packages.Placed, version string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from == nil || from.Dir == "" {
		return placed, "", errNoStore
	}
	if p.pinned == nil {
		if p.pinned, err = from.Resolve(ctx, p.declared, p.report); err != nil {
			return placed, "", err
		}
	}
	placed, err = from.Place(ctx, p.pinned, p.declared.Program, dir, p.report)
	return placed, p.pinned.Version, err
}
