package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/store"
)

// An actor is a container that is played, with everything that a real one does around it:
// its end is reported as a note before it is told.
type actor struct {
	t       *testing.T
	session *session
	start   event.StartRun
	act     func(a *actor, conn *hostlink.Conn)
	exit    Exit
	conn    *hostlink.Conn
	out     *io.PipeReader
	raw     *io.PipeWriter
	gone    chan struct{}
	stops   int
	stopped chan struct{}
	failed  chan error
}

func (a *actor) Start(context.Context) (*Container, error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	exited := make(chan Exit, 1)
	a.out, a.raw = outR, outW
	go func() {
		defer close(a.gone)
		conn, err := hostlink.Dial(inR, outW)
		if err == nil {
			a.conn = conn
			go func() { _ = conn.Serve() }()
			a.act(a, conn)
		}
		outW.Close()
		inR.Close()
		time.Sleep(50 * time.Millisecond) // the daemon tells it a moment after the streams have ended
		a.session.report(event.DockerContainerStatus{Service: "runtime", Status: "stopped"})
		exited <- a.exit
	}()
	return &Container{Stdin: inW, Stdout: outR, Stderr: strings.NewReader(""), Exited: exited}, nil
}

func (a *actor) Stop(context.Context) error {
	a.stops++
	close(a.stopped)
	return nil
}

// begin tells of a self-test and records the start of the coordinator's Run.
func (a *actor) begin() {
	if err := a.conn.Send(passed); err != nil {
		a.t.Error(err)
	}
	if err := a.record("e0", a.start); err != nil {
		a.t.Error(err)
	}
}

func (a *actor) record(id string, body event.Body) error {
	j, err := a.conn.Store().Open(a.t.Context(), stageJob)
	if err != nil {
		return err
	}
	_, err = j.Append(a.t.Context(), event.Event{ID: id, JobID: stageJob, RunID: "run", ExpertKey: "writer", StepNumber: 1, Body: body})
	return err
}

// plays has an actor play the container of a stage. It fails if that takes forever.
func (s *stage) plays(ctx context.Context, emit func(event.Event) error, act func(*actor, *hostlink.Conn)) (*actor, engine.Result, error) {
	s.t.Helper()
	f, err := engine.Follow(ctx, s.spec, s.host(emit))
	if err != nil {
		s.t.Fatal(err)
	}
	a := &actor{t: s.t, start: s.start(), act: act, exit: s.exit, stopped: make(chan struct{}), failed: make(chan error, 1), gone: make(chan struct{})}
	a.session = newSession(&runner{spec: s.spec, parts: s.host(emit)}, f)
	type outcome struct {
		engine.Result
		error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := a.session.live(ctx, a, a.failed, s.document(f))
		done <- outcome{r, err}
	}()
	select {
	case o := <-done:
		a.session.close()
		a.out.Close()
		<-a.gone
		if err := f.Close(); err != nil {
			s.t.Error(err)
		}
		return a, o.Result, o.error
	case <-time.After(10 * time.Second):
		s.t.Fatal("the session does not end")
		return nil, engine.Result{}, nil
	}
}

// The end of a container is a note before it is told; who waits for it takes notes.
func TestSessionOfAContainerThatDies(t *testing.T) {
	for want, exit := range map[string]Exit{
		"ended with code 7":   {Code: 7},
		"used up its memory":  {Code: 137, OutOfMemory: true},
		"the daemon is a way": {Code: -1, Err: errors.New("the daemon is a way")},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.exit = exit
				_, _, err := s.plays(t.Context(), nil, func(a *actor, _ *hostlink.Conn) { a.begin() })
				var lost *LostError
				if !errors.As(err, &lost) || lost.JobID != stageJob || !strings.Contains(err.Error(), want) {
					t.Errorf("it ended with %v", err)
				}
				if got := s.types(); !strings.HasSuffix(got, "stopRunByInterrupt") || !strings.Contains(got, "dockerContainerStatus") {
					t.Errorf("recorded %s", got)
				}
			})
		})
	}
}

// A host that is slow itself (a pager, a stopped terminal) does not take the container for
// dead.
func TestSessionIsSlowItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.limits().IdleTimeout = 150 * time.Millisecond
		s.exit = Exit{Code: 7}
		emit := func(event.Event) error { time.Sleep(200 * time.Millisecond); return nil }
		_, _, err := s.plays(t.Context(), emit, func(a *actor, _ *hostlink.Conn) {
			a.begin()
			for i := range 10 {
				if a.record(fmt.Sprintf("e%d", i+1), event.StartGeneration{}) != nil {
					return
				}
			}
		})
		if err == nil || strings.Contains(err.Error(), "idleTimeout") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// When the proxy is gone the run ends, the container with it, and the job can be resumed.
func TestSessionWithoutAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		a, _, err := s.plays(t.Context(), nil, func(a *actor, _ *hostlink.Conn) {
			a.begin()
			a.failed <- errors.New("the proxy ended with exit code 2")
			<-a.stopped
		})
		var lost *LostError
		if !errors.As(err, &lost) || !strings.Contains(err.Error(), "the proxy ended") || a.stops != 1 {
			t.Errorf("it ended with %v, stopped %d times", err, a.stops)
		}
	})
}

// A container that keeps running after its end is stopped, whatever it says.
func TestSessionAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		_, _, err := s.plays(t.Context(), nil, func(a *actor, c *hostlink.Conn) {
			a.begin()
			_ = c.Send(hostlink.Up{End: &hostlink.End{}})
			_, _ = io.WriteString(a.raw, "{\"alive\":true}\n")
			<-a.stopped
		})
		if err == nil || !strings.Contains(err.Error(), "after its last one") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// A listener that fails stops the run, and the error says why.
func TestSessionWithoutListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		said := make(chan string, 1)
		_, _, err := s.plays(t.Context(), func(event.Event) error { return errors.New("broken pipe") }, func(a *actor, c *hostlink.Conn) {
			a.begin()
			said <- (<-c.Stopped()).Reason
			_ = a.record("e1", event.StopRunByInterrupt{Reason: "x"})
			_ = c.Send(hostlink.Up{End: &hostlink.End{}})
		})
		if err != nil || len(said) != 1 || <-said != "broken pipe" {
			t.Errorf("it ended with %v", err)
		}
	})
}

// The whole time is a limit like others: the container saves, and its result has the
// numbers; those that the journal does not confirm are not believed.
func TestSessionTotalTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		limit string
		has   bool
	}{"told": {event.LimitDuration, true}, "another": {"tokens", false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.limits().TotalTimeout = 50 * time.Millisecond
				_, r, err := s.plays(t.Context(), nil, func(a *actor, conn *hostlink.Conn) {
					a.begin()
					stop := <-conn.Stopped()
					if stop.Limit == nil || stop.Limit.Limit != event.LimitDuration || stop.Limit.Max != 0.05 {
						t.Errorf("told %+v", stop)
					}
					_ = a.record("e1", event.StopRunByLimit{Limit: event.LimitDuration})
					_ = conn.Send(hostlink.Up{End: &hostlink.End{Limit: &hostlink.Limit{Limit: c.limit, Used: 1, Max: 2}}})
				})
				if err != nil || r.Status != event.StatusStoppedByLimit || (r.Limit != nil) != c.has {
					t.Errorf("it ended as %+v, %v", r, err)
				}
			})
		})
	}
}

// The self-test knocks at a host outside; that this is refused is no news. Later it is.
func TestSessionHidesTheKnock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		knock := event.ProxyAccess{Action: "blocked", Domain: selftest.OutsideHost}
		_, _, _ = s.plays(t.Context(), nil, func(a *actor, _ *hostlink.Conn) {
			a.session.report(knock)
			a.session.report(event.ProxyAccess{Action: "blocked", Domain: "other.example"})
			a.begin()
			a.session.report(knock)
		})
		if n := strings.Count(s.types(), "proxyAccess"); n != 2 {
			t.Errorf("recorded %s", s.types())
		}
	})
}

// A proxy that reports without end fills the journal no further than a container may.
func TestSessionLimitsNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.limits().MaxJournalBytes = 10 * sizeOf(event.ProxyAccess{})
		_, _, err := s.plays(t.Context(), nil, func(a *actor, _ *hostlink.Conn) {
			a.begin()
			for range 100 {
				a.session.report(event.ProxyAccess{Action: "blocked", Domain: "other.example"})
				select {
				case <-a.stopped:
					return
				default:
				}
			}
			<-a.stopped
		})
		if err == nil || !strings.Contains(err.Error(), "maxJournalBytes") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// An engine that says what was wrong with the job is believed, and its text made safe.
func TestSessionTellsWhatTheEngineSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		_, _, err := s.plays(t.Context(), nil, func(_ *actor, c *hostlink.Conn) {
			_ = c.Send(hostlink.Up{End: &hostlink.End{Kind: string(engine.KindInput), Error: "no such \x1b[2Jthing" + strings.Repeat("x", 2*maxSaid)}})
		})
		var wrong *engine.Error
		if !errors.As(err, &wrong) || wrong.Kind != engine.KindInput || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > maxSaid+100 {
			t.Errorf("it ended with %.200v", err)
		}
	})
}

// A container that is interrupted and does not end by itself is ended.
func TestSessionInterruptedBeforeTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newStage(t)
		_, _, err := s.plays(ctx, nil, func(_ *actor, c *hostlink.Conn) {
			cancel(errors.New("ctrl-c"))
			<-c.Stopped()
			_ = c.Send(hostlink.Up{End: &hostlink.End{Error: "cancelled"}})
		})
		if err == nil || err.Error() != "ctrl-c" {
			t.Errorf("it ended with %v", err)
		}
	})
}

// Every Expert of the closure has a listener for its commands, each program of a skill one of
// its own, and the engine one that leads to the provider and to remote skills.
func TestListeners(t *testing.T) {
	config, problems := manifest.Parse("perstack.toml", []byte(`
[experts.lead]
instruction = "x"
delegates = ["aide"]
[experts.lead.skills."@perstack/base"]
type = "mcpStdioSkill"
allowedDomains = ["a.example"]
[experts.lead.skills.far]
type = "mcpHttpSkill"
endpoint = "https://MCP.example/x"
[experts.aide]
instruction = "x"
[experts.aide.skills.tool]
type = "mcpStdioSkill"
command = "/workspace/tool"
allowedDomains = ["b.example"]
`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	lead, _ := config.Lookup("lead")
	r := &runner{spec: config.Spec(lead), model: providers.Bundle{URLs: []string{"https://api.example", "https://api.example"}}}
	listeners := r.listeners()
	tokens := make(map[string]bool)
	got := make(map[string]string)
	for _, l := range listeners {
		tokens[l.Token] = true
		got[l.Name] = strings.Join(l.Allow, " ")
	}
	want := map[string]string{
		"engine": "api.example mcp.example",
		engine.ProxyName("lead", expert.BaseSkill): "a.example",
		engine.ProxyName("aide", expert.BaseSkill): "",
		engine.ProxyName("aide", "tool"):           "b.example",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(listeners) != 4 || len(tokens) != 4 || listeners[0].Name != engineListener {
		t.Errorf("listeners %v, want %v", got, want)
	}
}

// What goes in has the listener of the engine for the engine alone, what skills of the whole
// closure ask for, and every secret that occurs anywhere in it.
func TestDocument(t *testing.T) {
	config, problems := manifest.Parse("perstack.toml", []byte(`
[experts.lead]
instruction = 'Lead "well".'
delegates = ["aide"]
[experts.aide]
instruction = "x"
[experts.aide.skills.tool]
type = "mcpStdioSkill"
command = "/workspace/tool"
requiredEnv = ["TOOL_KEY"]
`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	lead, _ := config.Lookup("lead")
	secrets := &searching{}
	r := &runner{
		spec: config.Spec(lead),
		parts: engine.Parts{
			Variables: func(name string) engine.Variable { return engine.Variable{Value: "value of " + name} },
			Secrets:   secrets,
		},
		model: providers.Bundle{
			Variables: map[string]providers.Variable{"API_KEY": {Value: "a key"}},
			Files:     map[string][]byte{"/cred": []byte("a credential")},
		},
	}
	r.spec.Isolation.Env = []string{"TOKEN"}
	r.spec.Isolation.Container.ReadOnlyWorkspace = true
	r.spec.Setting.Headers = map[string]string{"X-Key": "a header"}
	site := &Site{
		Listeners: map[string]string{engineListener: "http://perstack:t@192.0.2.2:1", "lead x": "http://perstack:u@192.0.2.2:2"},
		plan:      sitePlan{spec: r.spec, cover: Cover{Masked: []string{"/workspace/perstack"}, Frozen: []string{"/workspace/perstack.toml"}}},
	}
	d, err := r.document(site)
	if err != nil {
		t.Fatal(err)
	}
	if _, has := d.Secrets.Proxies[engineListener]; has || d.Secrets.Proxy != site.Listeners[engineListener] || len(d.Secrets.Proxies) != 1 || len(site.Listeners) != 2 {
		t.Errorf("proxies %v and %s, of %v", d.Secrets.Proxies, d.Secrets.Proxy, site.Listeners)
	}
	if d.Secrets.Variables["TOOL_KEY"].Value != "value of TOOL_KEY" || d.Secrets.Hidden["S"] != "s" || d.Spec.Lock != "" || !d.Addresses.ReadOnlyWorkspace {
		t.Errorf("%+v", d.Secrets)
	}
	if d.Secrets.Variables["API_KEY"].Value != "a key" || d.Secrets.Env["TOKEN"] != "value of TOKEN" || d.Secrets.Headers.Provider.Headers["X-Key"] != "a header" {
		t.Errorf("%+v", d.Secrets)
	}
	if fmt.Sprint(d.Addresses.Hidden, d.Addresses.ReadOnly) != "[/workspace/perstack] [/workspace/perstack.toml]" {
		t.Errorf("hidden %v, read-only %v", d.Addresses.Hidden, d.Addresses.ReadOnly)
	}
	for _, text := range []string{"value of TOKEN", "value of TOOL_KEY", "a key", "a credential", "a header", "Lead \"well\".", "/workspace/tool"} {
		if !slices.Contains(secrets.texts, text) {
			t.Errorf("no secret is looked for in %q", text)
		}
	}
}

// searching are secrets that remember in which texts they were looked for.
type searching struct {
	secret.Set
	texts []string
}

func (s *searching) Within(texts ...string) map[string]string {
	s.texts = append(s.texts, texts...)
	return map[string]string{"S": "s"}
}

// A deadline is told by its own words.
func TestCause(t *testing.T) {
	over := errors.New("buildTimeout is over")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, over)
	defer cancel()
	if err := cause(ctx, fmt.Errorf("load: %w", ctx.Err())); !errors.Is(err, over) {
		t.Errorf("%v", err)
	}
	broken := errors.New("broken")
	if err := cause(t.Context(), broken); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// A container that lives is left alone, however long it works: it says so. One that ends by
// itself is not killed.
func TestSessionOfALongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.limits().IdleTimeout, s.limits().StartTimeout = 300*time.Millisecond, 300*time.Millisecond
		a, r, err := s.plays(t.Context(), nil, func(a *actor, c *hostlink.Conn) {
			a.begin()
			for range 10 {
				time.Sleep(100 * time.Millisecond)
				if c.Send(hostlink.Up{Alive: true}) != nil {
					return
				}
			}
			_ = a.record("e1", event.StopRunByInterrupt{Reason: "x"})
			_ = c.Send(hostlink.Up{End: &hostlink.End{}})
		})
		if err != nil || r.Status != event.StatusStoppedByInterrupt || a.stops != 0 {
			t.Errorf("it ended as %+v, %v, stopped %d times", r, err, a.stops)
		}
	})
}

// A self-test that fails without end does not make an error without end.
func TestSessionOfManyChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		_, _, err := s.plays(t.Context(), nil, func(_ *actor, c *hostlink.Conn) {
			for range 3 * maxChecks {
				_ = c.Send(hostlink.Up{Check: &hostlink.Check{Name: "gateway", Detail: "it answers"}})
			}
			_ = c.Send(hostlink.Up{End: &hostlink.End{Error: "unsafe"}})
		})
		if err == nil || strings.Count(err.Error(), "gateway: it answers") != maxChecks {
			t.Errorf("it ended with %.300v", err)
		}
	})
}

// That the disk is full is for the engine to know as such: it saves what it can.
func TestDone(t *testing.T) {
	if d := done(7, 3, fmt.Errorf("write: %w", store.ErrFull)); !d.Full || d.Seq != 0 || d.Error == "" || d.ID != 7 {
		t.Errorf("%+v", d)
	}
	if d := done(7, 3, nil); d.Full || d.Seq != 3 || d.Error != "" {
		t.Errorf("%+v", d)
	}
}
