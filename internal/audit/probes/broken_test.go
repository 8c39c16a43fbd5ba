package probes

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/disk"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
)

// breaks removes one protection each.
var breaks = map[string]func(t *testing.T, m *Machine){
	"N2": func(_ *testing.T, m *Machine) { m.Parts.Proxy = relayed(m.Parts.Proxy, anyPort, nil) },
	"N3": func(_ *testing.T, m *Machine) { m.Parts.Proxy = allowing(m.Parts.Proxy, "registry.example.net") },
	"N4": func(_ *testing.T, m *Machine) { m.Parts.Proxy = allowing(m.Parts.Proxy, "wild.example.com") },
	"N5": func(_ *testing.T, m *Machine) { m.Parts.Allowlist = func([]string) error { return nil } },
	"N6": func(_ *testing.T, m *Machine) {
		listen := m.Parts.Proxy
		m.Parts.Proxy = func(ctx context.Context, c egress.ProxyConfig, o egress.ProxyOptions) (Proxy, error) {
			o.Resolver = believing{}
			return listen(ctx, c, o)
		}
	},
	"N8": func(_ *testing.T, m *Machine) { m.Parts.Proxy = relayed(m.Parts.Proxy, nil, honestHello) },
	"N9": func(_ *testing.T, m *Machine) {
		listen := m.Parts.Proxy
		m.Parts.Proxy = func(ctx context.Context, c egress.ProxyConfig, o egress.ProxyOptions) (Proxy, error) {
			o.Report = func(egress.Line) error { return nil }
			return listen(ctx, c, o)
		}
	},

	"N1": func(_ *testing.T, m *Machine) { opens(m, "N1", hostNetwork) },
	"N7": func(_ *testing.T, m *Machine) { opens(m, "N7", hostNetwork) },
	"N3 inside": func(_ *testing.T, m *Machine) {
		take := m.Parts.Take
		m.Parts.Take = func(socket net.Listener, l egress.Listener, o egress.ProxyOptions) (Proxy, error) {
			l.Allow = append(l.Allow, otherHost)
			return take(socket, l, o)
		}
	},

	"E1": func(_ *testing.T, m *Machine) { leaks(m, "MY_OWN_SECRET") },
	"E2": func(_ *testing.T, m *Machine) {
		run := m.Parts.Run
		m.Parts.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
			if value, ok := c.Env["LD_AUDIT"]; ok {
				c.Set = map[string]string{"LD_AUDIT": value}
			}
			return run(ctx, c)
		}
	},
	"E3": func(_ *testing.T, m *Machine) { leaks(m, "NODE_PATH") },
	"E4": func(t *testing.T, m *Machine) { m.PID = unprotected(t, m) },
	"E4 inside": func(t *testing.T, m *Machine) {
		pid, run := strconv.Itoa(unprotected(t, m)), m.Parts.Run
		m.Parts.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
			if c.Policy.Restricts() { // a sandbox that shows the processes of the machine
				c.Policy, c.Args = policy.Off(policy.AuditControl), append(slices.Clone(c.Args), hostile.Memory+"="+pid)
			}
			return run(ctx, c)
		}
	},
	"E5": func(_ *testing.T, m *Machine) { m.Parts.Refused = func(*manifest.Config) error { return nil } },
	"E6": func(_ *testing.T, m *Machine) {
		leakyFiles(m, func(name string) bool { return name == "sub/.env" }, nil)
	},

	"X1": func(_ *testing.T, m *Machine) {
		run := m.Parts.Run
		m.Parts.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
			if i := slices.Index(c.Args, "$HOME"); i >= 0 {
				c.Args = slices.Clone(c.Args)
				c.Args[i] = "/root"
			}
			return run(ctx, c)
		}
	},
	"X2": func(_ *testing.T, m *Machine) {
		run := m.Parts.Run
		m.Parts.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
			if strings.HasPrefix(filepath.Base(c.Dir), "start-") {
				c.Dir = filepath.Dir(c.Dir)
			}
			return run(ctx, c)
		}
	},
	"X3": func(_ *testing.T, m *Machine) {
		run := m.Parts.Run
		m.Parts.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
			c.MaxOutput = 64 << 20
			return run(ctx, c)
		}
	},

	"F1": func(_ *testing.T, m *Machine) {
		leakyFiles(m, func(name string) bool { return name == "middle/secret" }, nil)
	},
	"F2": func(_ *testing.T, m *Machine) {
		leakyFiles(m, func(name string) bool { return name == "link/jobs/x" }, nil)
	},
	"F3": func(_ *testing.T, m *Machine) {
		leakyFiles(m, func(string) bool { return false }, func(name string) bool { return name == "a" })
	},

	"S1": func(_ *testing.T, m *Machine) {
		m.Parts.Toolbox = func(ctx context.Context, sources []skill.Source) (Tools, error) {
			for i := range sources {
				sources[i].Filter = skill.Filter{}
			}
			return newTools(ctx, sources)
		}
	},
	"S2": func(_ *testing.T, m *Machine) { m.Parts.Endpoint = func(string) error { return nil } },
	"S3": func(_ *testing.T, m *Machine) { m.Parts.Package = func([]string) error { return nil } },
	"S4": func(_ *testing.T, m *Machine) {
		start := m.Parts.Start
		m.Parts.Start = func(ctx context.Context, s sandbox.Server) (Server, error) {
			_, err := start(ctx, s)
			return stubborn{}, err
		}
	},
	"S5": func(_ *testing.T, m *Machine) {
		open := m.Parts.MCP
		m.Parts.MCP = func(o mcp.Options) skill.Skill { o.Locked = nil; return open(o) }
	},
	"S6": func(_ *testing.T, m *Machine) {
		open := m.Parts.MCP
		m.Parts.MCP = func(o mcp.Options) skill.Skill { return greedy{open(o)} }
	},

	"R1": func(_ *testing.T, m *Machine) {
		m.Parts.Job = func(ctx context.Context, spec job.Spec, p model.Model, environ []string) (engine.Result, error) {
			for _, e := range spec.Experts {
				if e.Key == "two" {
					e.Instruction += spec.Input.Query // as if it continued the conversation of its caller
				}
			}
			return runJob(ctx, spec, p, environ)
		}
	},
	"R2": func(_ *testing.T, m *Machine) {
		m.Parts.Job = func(ctx context.Context, spec job.Spec, p model.Model, environ []string) (engine.Result, error) {
			spec.Limits.MaxSteps *= 2 // as if each of two Experts had its own
			return runJob(ctx, spec, p, environ)
		}
	},
	"R3": func(_ *testing.T, m *Machine) { m.Parts.Redact = func(_, _, text string) string { return text } },
	"R4": func(_ *testing.T, m *Machine) {
		open := m.Parts.Store
		m.Parts.Store = func(dir string, s *store.Sealer) store.Store { return blind{open(dir, s)} }
	},
	"T1": func(_ *testing.T, m *Machine) { m.Parts.Clean = func(text string) string { return text } },
	"L1": func(_ *testing.T, m *Machine) { m.Parts.Post = follow },

	"W1": func(_ *testing.T, m *Machine) {
		open := m.Parts.Store
		m.Parts.Store = func(dir string, _ *store.Sealer) store.Store { return open(dir, nil) }
	},
	"W2": func(_ *testing.T, m *Machine) {
		m.Parts.Watch = func(ctx context.Context, j TrustJob) ([]string, error) {
			refused, err := watch(ctx, j)
			return slices.DeleteFunc(refused, func(path string) bool { return strings.Contains(path, "sub") }), err
		}
	},
	"W6": func(_ *testing.T, m *Machine) {
		m.Parts.Ask = func(ctx context.Context, spec job.Spec, with model.Model, environ []string, approver engine.Approver) (engine.Result, error) {
			spec.Approvals = job.Approvals{}
			return askJob(ctx, spec, with, environ, approver)
		}
	},
	"W7": func(_ *testing.T, m *Machine) {
		m.Parts.Undo = func(ctx context.Context, j UndoJob) ([]string, error) {
			_, err := undo(ctx, UndoJob{j.Workspace, j.Store, func() error { return errors.Join(j.Job(), j.Others()) }, func() error { return nil }})
			return nil, err
		}
	},
	"W3": func(_ *testing.T, m *Machine) {
		m.Parts.Program = func(string, []string) (string, error) { return "same", nil }
	},
	"W4": func(_ *testing.T, m *Machine) {
		opens(m, "W4", func(p *policy.Policy) { p.Read = append(p.Read, m.Dir) })
	},
	"W1 inside": func(_ *testing.T, m *Machine) {
		opens(m, "W1", func(p *policy.Policy) { p.Read = append(p.Read, m.Dir) })
	},
	"W4 home": func(_ *testing.T, m *Machine) {
		opens(m, "W4", func(p *policy.Policy) { p.Write = append(p.Write, p.Home) })
	},
	"W4 barriers": func(_ *testing.T, m *Machine) {
		m.Parts.SelfTest = func(context.Context) []probe.Step { return []probe.Step{{Status: probe.Fail}} }
	},
	"W4 ports": func(_ *testing.T, m *Machine) { opens(m, "W4", hostNetwork) },
	"W4 hidden": func(_ *testing.T, m *Machine) {
		finds(m, func(p *policy.Protected) { p.Hidden = p.Hidden[:1] })
	},
	"W4 frozen": func(_ *testing.T, m *Machine) {
		finds(m, func(p *policy.Protected) {
			p.Frozen = slices.DeleteFunc(p.Frozen, func(name string) bool { return name == "perstack.lock" })
		})
	},
	"W4 pinned": func(_ *testing.T, m *Machine) {
		finds(m, func(p *policy.Protected) { p.Pinned, p.Frozen = nil, onlyInRoot(p.Frozen) })
	},
	"W8":        func(_ *testing.T, m *Machine) { opens(m, "W8", func(p *policy.Policy) { p.Limits.Tasks = 0 }) },
	"W8 memory": func(_ *testing.T, m *Machine) { opens(m, "W8", func(p *policy.Policy) { p.Limits.Memory = 0 }) },
	"W8 disk": func(_ *testing.T, m *Machine) {
		m.Parts.RunOnDisk = func(ctx context.Context, _ disk.Limits, c sandbox.Command) (sandbox.Outcome, error) {
			return m.Parts.Run(ctx, c)
		}
	},
	"W8 file size": func(_ *testing.T, m *Machine) { opens(m, "W8", func(p *policy.Policy) { p.Limits.FileSize = 0 }) },
	"W5": func(_ *testing.T, m *Machine) {
		m.Parts.Asks = func(c *manifest.Config) []string {
			return slices.DeleteFunc(asks(c), func(text string) bool { return !strings.Contains(text, "SEARCH_KEY") })
		}
	},
}

// With one protection removed, exactly its promise fails.
func TestBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs every probe, several times")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the protections of processes are tested on Linux")
	}
	if level, why := newMachine(t).Parts.Level(t.Context()); level != expert.SandboxFull {
		testkit.Missing(t, "a machine that offers level full: "+why)
	}
	for _, p := range Promises(newMachine(t)) {
		if p.Probe != nil && p.Area != "Container" && breaks[p.ID] == nil { // see TestContainers
			t.Errorf("%s has a probe, and no test shows that it can fail", p.ID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(breaks)) {
		t.Run(name, func(t *testing.T) {
			id, _, _ := strings.Cut(name, " ")
			m := newMachine(t)
			breaks[name](t, m)
			// Probes of other areas do not use the part; those of the same area could.
			var near []audit.Promise
			for _, p := range Promises(m) {
				if p.Probe != nil && related(p.ID, id) {
					near = append(near, p)
				}
			}
			claims, err := audit.Run(t.Context(), near, audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range claims {
				switch {
				case c.ID == id && c.Status != audit.Failed:
					t.Errorf("%s is %s without its protection: %s%s", c.ID, c.Status, c.Reason, c.Evidence)
				case c.ID != id && c.Status != audit.Verified:
					t.Errorf("%s is %s, and only %s was broken: %s", c.ID, c.Status, id, c.Reason)
				}
			}
		})
	}
}

// related are probes that share a part with another.
func related(a, b string) bool {
	if a == b || a[0] == b[0] && a[0] != 'S' && a[0] != 'X' && a != "W8" { // which takes long
		return true
	}
	groups := []string{"E6 F1 F2 F3", "E1 E2 E3 E6 X1 X2", "R3 R4 W1", "E5 W5", "S4 X3", "S5 S6"}
	return slices.ContainsFunc(groups, func(g string) bool {
		all := strings.Fields(g)
		return slices.Contains(all, a) && slices.Contains(all, b)
	})
}

// opens changes the sandbox of one probe.
func opens(m *Machine, promise string, change func(*policy.Policy)) {
	m.Parts.Confine = func(p policy.Policy) *policy.Policy {
		if p.Name == promise {
			change(&p)
		}
		return &p
	}
}

func hostNetwork(p *policy.Policy) { p.HostNetwork, p.Listener = true, false }

// finds changes what is protected in a workspace.
func finds(m *Machine, change func(*policy.Protected)) {
	search := m.Parts.Search
	m.Parts.Search = func(ctx context.Context, workspace string) (*policy.Protected, error) {
		found, err := search(ctx, workspace)
		if err == nil {
			change(found)
		}
		return found, err
	}
}

// onlyInRoot leaves out what lies in a directory, and would keep that from being renamed.
func onlyInRoot(paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return strings.Contains(path, "/") })
}

// unprotected starts a program that does not protect itself, with the rights that commands have.
func unprotected(t *testing.T, m *Machine) (pid int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	c := m.command(t.TempDir(), hostile.NoInput, hostile.Linger+"="+file, hostile.Sleep+"=60000")
	server, err := m.Parts.Start(t.Context(), sandbox.Server{Program: c.Program, Args: c.Args, Dir: c.Dir, Environ: c.Environ, Policy: c.Policy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(0) })
	for pid == 0 {
		if data, err := os.ReadFile(file); err == nil && len(data) > 0 {
			if pid, err = strconv.Atoi(string(data)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return pid
}

// leaks passes a variable of the environment on.
func leaks(m *Machine, name string) {
	run := m.Parts.Run
	m.Parts.Run = func(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
		for _, v := range c.Environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok && c.Set == nil {
				c.Set = map[string]string{name: value}
			}
		}
		return run(ctx, c)
	}
}

// follow asks a model server as a plain client would: it follows redirects, and takes headers along.
func follow(ctx context.Context, baseURL, key string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	r.Header.Set("X-Api-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// believing says that every name is at a public address, so that the check of addresses sees no
// other.
type believing struct{}

func allowing(listen func(context.Context, egress.ProxyConfig, egress.ProxyOptions) (Proxy, error), host string) func(context.Context, egress.ProxyConfig, egress.ProxyOptions) (Proxy, error) {
	return func(ctx context.Context, c egress.ProxyConfig, o egress.ProxyOptions) (Proxy, error) {
		c.Listeners[0].Allow = append(c.Listeners[0].Allow, host)
		return listen(ctx, c, o)
	}
}

// leaky opens files by their path, as the first version of everything does.
type leaky struct {
	Files
	dir     string
	read    func(name string) bool
	inPlace func(name string) bool
}

func leakyFiles(m *Machine, read, inPlace func(string) bool) {
	open := m.Parts.Workspace
	m.Parts.Workspace = func(dir string, o workspace.Options) (Files, error) {
		files, err := open(dir, o)
		return leaky{files, dir, read, inPlace}, err
	}
}

func (l leaky) ReadFile(ctx context.Context, name string, most int64) (workspace.Info, []byte, error) {
	if l.read(name) {
		data, err := os.ReadFile(filepath.Join(l.dir, name))
		return workspace.Info{}, data, err
	}
	return l.Files.ReadFile(ctx, name, most)
}

func (l leaky) WriteFile(ctx context.Context, name string, data []byte) (workspace.Info, error) {
	if l.inPlace != nil && l.inPlace(name) {
		return workspace.Info{}, os.WriteFile(filepath.Join(l.dir, name), data, 0o600)
	}
	return l.Files.WriteFile(ctx, name, data)
}

type stubborn struct{}

func (stubborn) Stop(time.Duration) error { return nil }

// greedy takes every answer.
type greedy struct{ skill.Skill }

func (g greedy) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	if call.ToolName == hostile.ToolHuge {
		return event.ToolResult{ID: call.ID, Result: []event.Part{{Type: event.TextPart, Text: strings.Repeat("x", 64<<20)}}}, nil
	}
	return g.Skill.Call(ctx, call)
}

// blind reads a journal as far as it is whole, and says nothing about the rest.
type blind struct{ store.Store }

func (b blind) Read(ctx context.Context, id string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range b.Store.Read(ctx, id, after) {
			if err != nil || !yield(r, nil) {
				return
			}
		}
	}
}
