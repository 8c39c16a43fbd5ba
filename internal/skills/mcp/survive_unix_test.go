//go:build unix

package mcp_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// No process of a server survives Close, however it behaves: not the one that ignores
// the end of its input, not what it left behind.
func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	b := begun(t, nil, "pid")
	text, _ := b.do("pid", nil)
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		t.Fatalf("the server does not live: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d survived: %v", pid, err)
	}
	for _, mode := range []string{"daemonise", "forkbomb"} {
		file := filepath.Join(t.TempDir(), "alive")
		b := begun(t, nil, mode, "--file", file, "--n", "5")
		if text, _ := b.do(mode, nil); text != `{"done":true}` {
			t.Fatalf("%s: %s", mode, text)
		}
		if alive, err := evil.Alive(file); !alive || err != nil {
			t.Fatalf("%s: alive %t, %v", mode, alive, err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if alive, err := evil.Alive(file); alive || err != nil {
			t.Errorf("%s: alive %t, %v", mode, alive, err)
		}
	}
}

// The last words of a server are there when its end is told, however late they are read.
func TestLastWords(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := begun(t, func(o *mcp.Options) {
		process := o.Process
		o.Process = func(ctx context.Context) (mcp.Process, error) {
			p, err := process(ctx)
			p.Server.Args = []string{"-c", `"$0" die-call; echo first >&2; echo last >&2; exit 3`, p.Server.Program}
			p.Server.Program = "/bin/sh"
			return p, err
		}
		o.Report = func(e event.Body) {
			if _, ok := e.(event.SkillStderr); ok {
				<-release
			}
		}
	})
	ended := make(chan string, 1)
	go func() {
		text, _ := b.echo("hi")
		ended <- text
	}()
	select {
	case text := <-ended:
		t.Fatalf("told before all was read: %q", text)
	case <-time.After(300 * time.Millisecond): // a chance to be wrong; who is right waits
	}
	close(release)
	if text := <-ended; !strings.Contains(text, "(exit status 3); it said last: first | last") {
		t.Errorf("%q", text)
	}
}

// A program that only writes text is no MCP server, and the error shows what it wrote.
func TestNoServer(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`echo hello world; while read x; do :; done`: `not ready within 1s: it wrote "hello world" where a message was expected`,
		// The default of a minute is not waited for.
		`echo listening on port 80; while read x; do :; done`: `the server did not answer: it wrote "listening on port 80" where a message was expected; check that the command starts an MCP server`,
		`echo usage: x; exit 2`:                               `ended before it was ready (exit status 2): it wrote "usage: x" where a message was expected`,
	} {
		b := newBench(t, func(o *mcp.Options) {
			if strings.Contains(want, "1s") {
				quick(o)
			}
			process := o.Process
			o.Process = func(ctx context.Context) (mcp.Process, error) {
				p, err := process(ctx)
				p.Server.Program, p.Server.Args = "/bin/sh", []string{"-c", script}
				return p, err
			}
		})
		err := b.Start(t.Context())
		if err == nil {
			t.Fatal("it started")
		}
		has(t, err.Error(), want)
	}
}
