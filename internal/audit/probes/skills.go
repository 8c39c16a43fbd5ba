package probes

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// tools is a toolbox.
type tools struct{ box *skill.Toolbox }

func newTools(ctx context.Context, sources []skill.Source) (Tools, error) {
	box, err := skill.NewToolbox(ctx, sources, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return tools{box}, nil
}

func (t tools) Tools() []skill.Tool { return t.box.Tools() }
func (t tools) Close() error        { return t.box.Close() }

func (t tools) Call(ctx context.Context, name string) (bool, error) {
	result, err := t.box.Call(ctx, event.ToolCall{ID: "c", ToolName: name, Args: rawjson.Value(`{}`)})
	return result.IsError, err
}

// twoTools is a skill whose tools note that they were called.
type twoTools struct{ called []string }

func (*twoTools) Name() string { return "two" }
func (*twoTools) Close() error { return nil }

func (*twoTools) Tools(context.Context) ([]skill.Tool, error) {
	schema := rawjson.Value(`{"type":"object"}`)
	return []skill.Tool{{Name: "harmless", InputSchema: schema}, {Name: "dangerous", InputSchema: schema}}, nil
}

func (t *twoTools) Call(_ context.Context, call event.ToolCall) (event.ToolResult, error) {
	t.called = append(t.called, call.ToolName)
	return event.ToolResult{ID: call.ID, ToolName: call.ToolName}, nil
}

// leftOut attacks S1.
func (m *Machine) leftOut(ctx context.Context) audit.Result {
	for name, filter := range map[string]skill.Filter{"pick": {Pick: []string{"harmless"}}, "omit": {Omit: []string{"dangerous"}}} {
		two := &twoTools{}
		box, err := m.Parts.Toolbox(ctx, []skill.Source{{Skill: two, Filter: filter}})
		if err != nil {
			return noStart(err)
		}
		if failed, err := box.Call(ctx, "harmless"); failed || err != nil {
			return noControl("the tools that are not left out cannot be called either")
		}
		if slices.ContainsFunc(box.Tools(), func(t skill.Tool) bool { return t.Name == "dangerous" }) {
			return audit.Break(audit.BuiltIn, "a tool that %s leaves out is listed", name)
		}
		for _, tool := range []string{"dangerous", "Dangerous", "two__dangerous", "unknown"} {
			if failed, err := box.Call(ctx, tool); !failed && err == nil || slices.Contains(two.called, "dangerous") {
				return audit.Break(audit.BuiltIn, "a tool that %s leaves out was called as %q", name, tool)
			}
		}
		if err := box.Close(); err != nil {
			return noStart(err)
		}
	}
	return audit.Hold(audit.BuiltIn, "a tool that pick or omit leaves out was neither listed nor called, under 4 names")
}

// endpoints attacks S2.
func (m *Machine) endpoints(context.Context) audit.Result {
	if err := m.Parts.Endpoint("https://mcp.example.com/mcp"); err != nil {
		return noControl(err.Error())
	}
	attempts := []string{
		"http://mcp.example.com/", "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://169.254.169.254/",
		"https://10.0.0.1/", "https://192.168.1.1/", "https://2130706433/", "https://0x7f000001/", "https://127.1/", "https://a.internal/", "file:///etc/passwd", "https://user:pass@mcp.example.com/",
	}
	for _, url := range attempts {
		if m.Parts.Endpoint(url) == nil {
			return audit.Break(audit.BuiltIn, "a remote skill can be at %s", url)
		}
	}
	return audit.Hold(audit.BuiltIn, "%d endpoints were refused: plain HTTP, private addresses in several notations, credentials", len(attempts))
}

func parsePackage(args []string) error {
	if _, fault := expert.ParsePackage("npx", args); fault != nil {
		return errors.New(fault.Message)
	}
	return nil
}

// packageNames attacks S3.
func (m *Machine) packageNames(context.Context) audit.Result {
	if err := m.Parts.Package([]string{"-y", "@scope/server@1.2.3"}); err != nil {
		return noControl(err.Error())
	}
	attempts := [][]string{
		{"-c", "touch x"}, {"--call=touch", "x"}, {"--node-options=--require=x", "y"}, {"--registry=https://r.example", "x"}, {"--", "-c", "x"},
		{"-p", "x", "../y"}, {"-p", "x", "a;b"}, {"https://evil.test/x.tgz"}, {"git+ssh://evil.test/x"}, {"./local"}, {"../local"}, {"x@>=1"}, {"x@file:../y"}, {"--shell", "sh", "x"},
	}
	for _, args := range attempts {
		if m.Parts.Package(args) == nil {
			return audit.Break(audit.BuiltIn, "npx %s was accepted", strings.Join(args, " "))
		}
	}
	return audit.Hold(audit.BuiltIn, "%d command lines were refused: options, addresses, paths and ranges; that no script of a package runs is proved by a test only, because it needs npm", len(attempts))
}

// server starts the hostile MCP server through the code for skills.
func (m *Machine) server(mode string, o mcp.Options) (skill.Skill, error) {
	dir, err := m.dir("mcp")
	if err != nil {
		return nil, err
	}
	c := m.command(dir, hostile.Serve+"="+mode)
	o.Name = "hostile"
	o.Process = func(context.Context) (mcp.Process, error) {
		return mcp.Process{Command: m.Program, Server: sandbox.Server{Program: c.Program, Args: c.Args, Dir: dir, Environ: c.Environ, Policy: c.Policy}}, nil
	}
	o.Report, o.Redact, o.Now = func(event.Body) {}, func(text string) string { return text }, time.Now
	o.Log = slog.New(slog.DiscardHandler)
	if o.Stop == nil {
		o.Stop = func(error) {}
	}
	o.Changed = func() {}
	return m.Parts.MCP(o), nil
}

func call(ctx context.Context, s skill.Skill, tool string) (event.ToolResult, error) {
	return s.Call(ctx, event.ToolCall{ID: "c", SkillName: s.Name(), ToolName: tool, Args: rawjson.Value(`{}`)})
}

// rugPull attacks S5: the server that is started describes a tool in another way than the one that
// was pinned.
func (m *Machine) rugPull(ctx context.Context) audit.Result {
	honest, err := m.server("honest", mcp.Options{})
	if err != nil {
		return noStart(err)
	}
	pinned, err := honest.Tools(ctx)
	if err := errors.Join(err, honest.Close()); err != nil {
		return noStart(err)
	}
	if changes := m.Parts.Compare(pinned, pinned); len(changes) > 0 {
		return noControl("equal tools differ")
	}
	same, err := m.server("honest", mcp.Options{Locked: pinned})
	if err != nil {
		return noStart(err)
	}
	result, err := call(ctx, same, hostile.ToolEcho)
	if err := errors.Join(err, same.Close()); err != nil || result.IsError {
		return noControl("a server with the pinned tools cannot be used either")
	}
	var stopped atomic.Bool // the server is watched by another goroutine
	changed, err := m.server("changed", mcp.Options{Locked: pinned, Stop: func(error) { stopped.Store(true) }})
	if err != nil {
		return noStart(err)
	}
	result, err = call(ctx, changed, hostile.ToolEcho)
	if closed := changed.Close(); closed != nil {
		return noStart(closed)
	}
	if err == nil && !result.IsError || !stopped.Load() {
		return audit.Break(audit.BuiltIn, "a server whose tools are not the pinned ones was used")
	}
	return audit.Hold(audit.BuiltIn, "a server that had changed the description of a tool was stopped before the call; the pinned one worked")
}

// answers attacks S6.
func (m *Machine) answers(ctx context.Context) audit.Result {
	s, err := m.server("honest", mcp.Options{CallTimeout: 2 * time.Second})
	if err != nil {
		return noStart(err)
	}
	defer s.Close()
	if _, err := s.Tools(ctx); err != nil {
		return noStart(err)
	}
	if result, err := call(ctx, s, hostile.ToolEcho); err != nil || result.IsError {
		return noControl("an honest answer is refused, too")
	}
	const most = 8 << 20 // beyond all limits for results
	for _, tool := range []string{hostile.ToolDeep, hostile.ToolSilent, hostile.ToolHuge} {
		result, err := call(ctx, s, tool)
		if ctx.Err() != nil {
			return audit.Break(audit.BuiltIn, "a call of the tool %s did not end", tool)
		}
		size := 0
		for _, part := range result.Result {
			size += len(part.Text)
		}
		if err == nil && !result.IsError && tool != hostile.ToolDeep || size > most {
			return audit.Break(audit.BuiltIn, "the answer of the tool %s was taken, with %d bytes", tool, size)
		}
	}
	return audit.Hold(audit.BuiltIn, "an answer of 64 MiB, one that is 100,000 levels deep and one that never came cost one call each")
}
