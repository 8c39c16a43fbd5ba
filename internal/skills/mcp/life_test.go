package mcp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/skill"
)

// M8: a server that dies is started again for the next call, and the model is told about
// the lost one.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := begun(t, nil, "die-call", "--n", "2")
	for i := range 3 { // it answers one call and dies in the next, every time
		if text, isError := b.echo("hi"); text != "hi" || isError {
			t.Fatalf("call %d: %q, %t", i, text, isError)
		}
		if text, isError := b.echo("lost"); !isError || !strings.Contains(text, "exit status 3") {
			t.Fatalf("call %d: %q, %t", i, text, isError)
		}
	}
	if n := len(told[event.SkillStarting](b)); n != 3 {
		t.Errorf("started %d times, want 3", n)
	}
}

// A server that dies twice without having answered a call is left dead, and every call
// says why.
func TestStaysDead(t *testing.T) {
	t.Parallel()
	b := begun(t, nil, "die-call")
	for range 4 {
		if text, isError := b.echo("hi"); !isError || !strings.Contains(text, "exit status 3") {
			t.Errorf("%q, %t", text, isError)
		}
	}
	if n := len(told[event.SkillStarting](b)); n != 2 {
		t.Errorf("started %d times, want 2", n)
	}
	if b.names() != good {
		t.Error("the list is gone")
	}
	// One that dies while it is asked for its tools has failed to start, once.
	b = newBench(t, func(o *mcp.Options) { o.Locked = lockOf(t, "good") }, "die-list")
	for range 4 {
		if text, isError := b.echo("hi"); !isError || !strings.Contains(text, "before it was ready (exit status 3)") {
			t.Errorf("%q, %t", text, isError)
		}
	}
	if n := len(told[event.SkillStarting](b)); n != 2 {
		t.Errorf("started %d times, want 2", n)
	}
}

// M11: with a lock nothing is started before the first call, and the first call works.
func TestLocked(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *mcp.Options) { o.Locked = lockOf(t, "good") }, "good")
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); got != good || len(told[event.SkillStarting](b)) != 0 {
		t.Errorf("tools %q, started %d times", got, len(told[event.SkillStarting](b)))
	}
	// M9: a tool that is not in the lock does not even start it.
	if text, isError := b.do("sendMail", nil); !isError || !strings.Contains(text, `no tool "sendMail"`) || len(told[event.SkillStarting](b)) != 0 {
		t.Errorf("%q, %t", text, isError)
	}
	if text, isError := b.echo("hi"); text != "hi" || isError {
		t.Errorf("%q, %t", text, isError)
	}
}

// A lock that says that there are no tools is a lock.
func TestLockedEmpty(t *testing.T) {
	b := newBench(t, func(o *mcp.Options) { o.Locked = []skill.Tool{} }, "good")
	if got := b.names(); got != "" {
		t.Errorf("tools %q", got)
	}
}

// M12: a server that does not offer what was installed is not called: not after the
// install, not after a restart, and not when it changes its mind in between.
func TestRugPull(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, b *bench, wanted ...string) {
		t.Helper()
		wanted = append(wanted, `skill "evil"`, mcp.AcceptAdvice)
		stopped := <-b.stopped
		if changed, ok := errors.AsType[*mcp.ChangedError](stopped); !ok || len(changed.Differences) == 0 {
			t.Errorf("stopped by %v", stopped)
		}
		has(t, stopped.Error(), wanted...)
		has(t, callFails(t, b), wanted...)
		if len(b.stopped) != 0 {
			t.Error("the run is stopped twice")
		}
	}
	t.Run("since the install", func(t *testing.T) {
		t.Parallel()
		state := filepath.Join(t.TempDir(), "state")
		b := newBench(t, func(o *mcp.Options) { o.Locked = lockOf(t, "rug-pull", "--state", state) }, "rug-pull", "--state", state)
		callFails(t, b)
		refused(t, b, "~ echo")
	})
	t.Run("at a restart", func(t *testing.T) {
		t.Parallel()
		locked := lockOf(t, "die-call", "--n", "2")
		state, starts := filepath.Join(t.TempDir(), "state"), 0
		if err := os.WriteFile(state, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, func(o *mcp.Options) {
			o.Locked = locked
			process := o.Process
			o.Process = func(ctx context.Context) (mcp.Process, error) {
				p, err := process(ctx)
				if starts++; starts > 1 { // as if its package had been replaced
					p.Server.Args = []string{"rug-pull", "--state", state}
				}
				return p, err
			}
		}, "die-call", "--n", "2")
		if text, _ := b.echo("hi"); text != "hi" {
			t.Fatalf("%q", text)
		}
		if _, isError := b.echo("lost"); !isError {
			t.Fatal("it lives")
		}
		callFails(t, b)
		refused(t, b, "~ echo")
	})
	t.Run("in mid-run", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, func(o *mcp.Options) { o.Locked = lockOf(t, "list-changed") }, "list-changed")
		if text, _ := b.echo("hi"); text != "hi" {
			t.Fatalf("%q", text)
		}
		refused(t, b, "+ sendMail")
	})
	t.Run("without a lock", func(t *testing.T) {
		t.Parallel()
		state := filepath.Join(t.TempDir(), "state")
		b := begun(t, nil, "rug-pull", "--state", state)
		if text, _ := b.echo("hi"); text != "hi" || len(b.stopped) != 0 {
			t.Errorf("%q, %d", text, len(b.stopped))
		}
	})
}

// callFails makes a call and returns the error that ends the run.
func callFails(t *testing.T, b *bench) string {
	t.Helper()
	r, err := b.Call(t.Context(), event.ToolCall{ID: "c1", ToolName: "echo", Args: []byte(`{"text":"hi"}`)})
	if err == nil {
		t.Fatalf("the call was made: %+v", r)
	}
	return err.Error()
}

// C7: however many calls need the server at once, it is started once; a call that loses stopTimeout
// does not take it from the others.
func TestSharedStart(t *testing.T) {
	t.Parallel()
	begin := make(chan struct{})
	b := newBench(t, func(o *mcp.Options) {
		process := o.Process
		o.Process = func(ctx context.Context) (mcp.Process, error) {
			<-begin
			return process(ctx)
		}
	}, "good")
	impatient, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() { gaveUp <- b.Start(impatient) }()
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the one who gave up: %v", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := b.Start(t.Context()); err != nil {
				t.Error(err)
			}
			if text, isError := b.echo("hi"); text != "hi" || isError {
				t.Errorf("%q, %t", text, isError)
			}
		})
	}
	close(begin)
	all.Wait()
	if n := len(told[event.SkillStarting](b)); n != 1 {
		t.Errorf("started %d times", n)
	}
}

// C8: a skill that is closed while it starts leaves nothing, and is not started again.
func TestCloseDuringStart(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	b := newBench(t, func(o *mcp.Options) {
		o.StartTimeout = time.Hour
		o.Report = func(e event.Body) {
			if _, ok := e.(event.SkillStarting); ok {
				close(begun)
			}
		}
	}, "hang-initialize")
	started := make(chan error)
	go func() { started <- b.Start(t.Context()) }()
	<-begun
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-started; err == nil || !strings.Contains(err.Error(), "the skill was closed") {
		t.Errorf("the start: %v", err)
	}
	if err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "the skill was closed") {
		t.Errorf("a start afterwards: %v", err)
	}
	if _, err := b.Call(t.Context(), event.ToolCall{ToolName: "echo"}); err == nil {
		t.Error("a call afterwards works")
	}
	if err := b.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// A call that is under way when the skill is closed ends, and so does one whose run is
// stopped.
func TestEndOfCalls(t *testing.T) {
	t.Parallel()
	b := begun(t, nil, "hang-call")
	calls := make(chan error)
	call := func(ctx context.Context) {
		_, err := b.Call(ctx, event.ToolCall{ID: "c", ToolName: "echo", Args: []byte(`{}`)})
		calls <- err
	}
	ctx, cancel := context.WithCancel(t.Context())
	go call(ctx)
	cancel()
	if err := <-calls; !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose run was stopped: %v", err)
	}
	go call(t.Context())
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-calls; err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a call of a skill that was closed: %v", err)
	}
}

// lazyInit without a lock: the Run does not wait for the start, the list does, and a failure is an
// error of the list and of the calls.
func TestBackground(t *testing.T) {
	t.Parallel()
	begin := make(chan struct{})
	b := newBench(t, func(o *mcp.Options) {
		o.Background = true
		process := o.Process
		o.Process = func(ctx context.Context) (mcp.Process, error) {
			<-begin
			return process(ctx)
		}
	}, "good")
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(begin)
	if got := b.names(); got != good {
		t.Errorf("tools %q", got)
	}

	b = newBench(t, func(o *mcp.Options) { o.Background = true }, "die-initialize")
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		// Whose list it is, says the toolbox.
		if _, err := b.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") || strings.Contains(err.Error(), `skill "evil"`) {
			t.Errorf("tools: %v", err)
		}
	}
	if n := len(told[event.SkillStarting](b)); n != 1 {
		t.Errorf("the list started it %d times", n)
	}
	if text, isError := b.echo("hi"); !isError || !strings.Contains(text, "exit status 3") {
		t.Errorf("%q, %t", text, isError)
	}
}

// The error of a start names skill, command and what went wrong.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	wanted := errors.New("the package cannot be had")
	b := newBench(t, func(o *mcp.Options) {
		o.Process = func(context.Context) (mcp.Process, error) { return mcp.Process{}, wanted }
	})
	if err := b.Start(t.Context()); !errors.Is(err, wanted) || !strings.Contains(err.Error(), `skill "evil"`) {
		t.Errorf("%v", err)
	}
	b = newBench(t, func(o *mcp.Options) {
		o.Process = func(context.Context) (mcp.Process, error) {
			return mcp.Process{Server: sandbox.Server{Program: "no-such-program", Dir: t.TempDir(), Environ: os.Environ(), Policy: policy.Off(policy.JobOff)}, Command: "no-such-program"}, nil
		}
	})
	err := b.Start(t.Context())
	if err == nil {
		t.Fatal("it started")
	}
	has(t, err.Error(), `skill "evil": no-such-program: `)
	// What it said last is part of it, without what steers a terminal.
	b = newBench(t, nil, "no-such-mode")
	if err = b.Start(t.Context()); err == nil {
		t.Fatal("it started")
	}
	has(t, err.Error(), "exit status 1", "it said last: ", `mode "no-such-mode" is unknown`)
	b = newBench(t, nil, "stderr-flood", "--mib", "1", "--no-such-flag")
	if err = b.Start(t.Context()); err == nil || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 4<<10 {
		t.Errorf("%q", err)
	}
}

// What is told of a start has the names that the user knows, and timings that fit.
func TestStartEvents(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var mu sync.Mutex
	b := begun(t, func(o *mcp.Options) {
		process := o.Process
		o.Process = func(ctx context.Context) (mcp.Process, error) {
			p, err := process(ctx)
			p.Command, p.Args = "npx", []string{"@a/b"}
			return p, err
		}
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			clock = clock.Add(time.Millisecond)
			return clock
		}
	}, "good")
	starting, connected := told[event.SkillStarting](b), told[event.SkillConnected](b)
	if len(starting) != 1 || starting[0].Command != "npx" || len(starting[0].Args) != 1 || starting[0].SkillName != "evil" {
		t.Errorf("%+v", starting)
	}
	if len(connected) != 1 || connected[0].ServerInfo == nil || connected[0].ServerInfo.Version != "1.0.0" {
		t.Fatalf("%+v", connected)
	}
	c := connected[0]
	if *c.SpawnDurationMS < 1 || *c.HandshakeDurationMS < 1 || *c.ToolDiscoveryDurationMS < 1 ||
		*c.ConnectDurationMS != *c.SpawnDurationMS+*c.HandshakeDurationMS || *c.TotalDurationMS != *c.ConnectDurationMS+*c.ToolDiscoveryDurationMS {
		t.Errorf("timings %d %d %d %d %d", *c.SpawnDurationMS, *c.HandshakeDurationMS, *c.ToolDiscoveryDurationMS, *c.ConnectDurationMS, *c.TotalDurationMS)
	}
}

// The definitions that go into a lock are those of the tools, and have their digests.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	b := begun(t, nil, "good")
	tools, err := b.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := b.Definitions(t.Context())
	if err != nil || len(definitions) != len(tools) {
		t.Fatalf("%d definitions of %d tools, %v", len(definitions), len(tools), err)
	}
	has(t, string(definitions[0]), `"name":"echo"`, `"inputSchema":{`, `"description":"Returns the text it is given."`)
	if strings.Contains(string(definitions[0]), "title") {
		t.Errorf("%s has what the server did not send", definitions[0])
	}
}
