//go:build unix

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// server makes one of a command.
func server(c Command) Server {
	return Server{Program: c.Program, Args: c.Args, Dir: c.Dir, Environ: c.Environ, Policy: off()}
}

// started starts a server and sees to its end.
func started(t *testing.T, s *Supervisor, server Server) *ServerProcess {
	t.Helper()
	r, err := s.Start(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(time.Millisecond); err != nil {
			t.Error(err)
		}
	})
	return r
}

// stop ends a server whose manners are not what the test is about.
func stop(t *testing.T, r *ServerProcess) {
	t.Helper()
	if err := r.Stop(time.Millisecond); err != nil {
		t.Error(err)
	}
}

// line reads what a server says next.
func line(t *testing.T, r io.Reader) string {
	t.Helper()
	var said []byte
	one := make([]byte, 1)
	for {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatalf("the server said %q, then %v", said, err)
		}
		if one[0] == '\n' {
			return string(said)
		}
		said = append(said, one[0])
	}
}

const echo = `while read -r line; do echo "you said $line"; echo "heard $line" >&2; done; echo bye`

func TestServerConversation(t *testing.T) {
	r := started(t, supervisor(t), server(shell(t, echo)))
	for i := range 100 {
		if _, err := fmt.Fprintf(r.Stdin, "word %d\n", i); err != nil {
			t.Fatal(err)
		}
		if got, want := line(t, r.Stdout), fmt.Sprintf("you said word %d", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if got, want := line(t, r.Stderr), fmt.Sprintf("heard word %d", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if got := r.Exit(); got != "still running" {
		t.Errorf("exit %q", got)
	}
	// The end of its input ends it, by itself.
	if err := r.Stdin.Close(); err != nil {
		t.Error(err)
	}
	<-r.Done()
	if got := r.Exit(); got != "exit status 0" {
		t.Errorf("exit %q", got)
	}
	// What it said last can be read afterwards, once.
	for _, want := range []string{"bye\n", ""} {
		if last, err := io.ReadAll(r.Stdout); string(last) != want || err != nil {
			t.Errorf("last words %q, %v", last, err)
		}
	}
	// Writing to a server that is gone is an error, and does not kill us.
	if _, err := r.Stdin.Write([]byte("anybody?\n")); err == nil {
		t.Error("it was written to the dead")
	}
}

// A server that closed its input, or is dead without our having noticed, makes writing
// fail; SIGPIPE does not end us.
func TestServerBrokenPipe(t *testing.T) {
	r := started(t, supervisor(t), server(shell(t, "exec <&-; echo ready; exec sleep 3600")))
	line(t, r.Stdout)
	// The supervisor may still be about to close its own copy.
	var err error
	for err == nil {
		_, err = r.Stdin.Write([]byte("x"))
	}
	stop(t, r)
	if got := r.Exit(); got != "killed by SIGTERM" {
		t.Errorf("exit %q", got)
	}
}

func TestServerEnds(t *testing.T) {
	tests := []struct {
		name, script string
		grace        time.Duration // 0: it ends by itself
		want         string
	}{
		{"code", "exit 3", 0, "exit status 3"},
		{"signal", "kill -9 $$", 0, "killed by SIGKILL"},
		{"end of input", "echo ready; cat; exit 4", time.Hour, "exit status 4"},
		{"request", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done", 100 * time.Millisecond, "exit status 5"},
		{"default of the request", "echo ready; exec sleep 3600", time.Millisecond, "killed by SIGTERM"},
		{"force", "trap '' TERM HUP INT; echo ready; while :; do sleep 3600; done", time.Millisecond, "killed by SIGKILL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := started(t, supervisor(t), server(shell(t, tt.script)))
			if tt.grace == 0 {
				<-r.Done()
			} else {
				line(t, r.Stdout)
				if err := r.Stop(tt.grace); err != nil {
					t.Error(err)
				}
			}
			if got := r.Exit(); got != tt.want {
				t.Errorf("exit %q, want %q", got, tt.want)
			}
		})
	}
}

// Stop may be called by many, at any time, and each call returns when the server is gone.
func TestServerStopOften(t *testing.T) {
	r := started(t, supervisor(t), server(shell(t, "trap '' TERM; echo $$; while :; do sleep 3600; done")))
	pid, err := strconv.Atoi(line(t, r.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := r.Stop(time.Duration(i) * time.Millisecond); err != nil {
				t.Error(err)
			}
			if alive(pid) {
				t.Error("it lives")
			}
		})
	}
	wg.Wait()
	stop(t, r)
}

// A server whose output is not read blocks when it writes. It can still be ended, and what
// it wrote is kept as far as a pipe holds it.
func TestServerUnread(t *testing.T) {
	for _, script := range []string{
		"trap '' PIPE TERM; (cat /dev/zero >&2) & cat /dev/zero; sleep 3600",
		"cat /dev/zero >&2",
	} {
		r := started(t, supervisor(t), server(shell(t, script)))
		stop(t, r)
		rest, err := io.ReadAll(r.Stderr)
		if err != nil || len(rest) > maxRest {
			t.Errorf("%d bytes, %v", len(rest), err)
		}
	}
}

// Stop ends a write that waits for a server which does not read.
func TestServerDeaf(t *testing.T) {
	r := started(t, supervisor(t), server(shell(t, "echo ready; exec sleep 3600")))
	line(t, r.Stdout)
	written := make(chan error)
	go func() {
		_, err := io.Copy(r.Stdin, zeros{})
		written <- err
	}()
	stop(t, r)
	if err := <-written; err == nil {
		t.Error("all was written")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestServerCannotStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data"), []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		server Server
		want   error
	}{
		{Server{Program: "perstack-no-such-program"}, ErrNotFound},
		{Server{Program: "./no-such-program"}, ErrNotFound},
		{Server{Program: "./data"}, ErrFormat},
		{Server{}, ErrInvalid},
		{Server{Program: "sh", Args: []string{"a\x00b"}}, ErrInvalid},
		{Server{Program: "sh", Set: map[string]string{"": "x"}}, ErrInvalid},
		{Server{Program: "sh", Set: map[string]string{"A=B": "x"}}, ErrInvalid},
		{Server{Program: "sh", Set: map[string]string{"A": "x\x00y"}}, ErrInvalid},
	}
	s := supervisor(t)
	for _, tt := range tests {
		tt.server.Dir, tt.server.Environ, tt.server.Policy = dir, os.Environ(), off()
		if _, err := s.Start(t.Context(), tt.server); !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v", tt.server, err)
		}
	}
	if len(s.links) > 0 {
		t.Errorf("%d supervisors are left", len(s.links))
	}
	var none *Supervisor
	if _, err := none.Start(t.Context(), server(shell(t, "true"))); !errors.Is(err, errSupervisor) {
		t.Errorf("without a supervisor: %v", err)
	}
}

// A Start that is called off leaves nothing behind, at whatever moment that comes.
func TestServerCancelled(t *testing.T) {
	s := supervisor(t)
	why := errors.New("changed my mind")
	for delay := range 30 {
		ctx, cancel := context.WithCancelCause(t.Context())
		if delay == 0 {
			cancel(why)
		}
		time.AfterFunc(time.Duration(delay)*time.Millisecond, func() { cancel(why) })
		r, err := s.Start(ctx, server(shell(t, "exec sleep 3600")))
		switch {
		case err == nil: // it was faster; from then on the context does not count
			<-ctx.Done()
			stop(t, r)
			if got := r.Exit(); got != "killed by SIGTERM" {
				t.Errorf("exit %q", got)
			}
		case !errors.Is(err, why):
			t.Errorf("error %v", err)
		}
	}
	if len(s.links) > 0 {
		t.Errorf("%d supervisors are left", len(s.links))
	}
}

// Close ends servers, whether they listen or not, and lets none start.
func TestServerSupervisorEnds(t *testing.T) {
	s := supervisor(t)
	c := shell(t, "trap '' TERM; echo ready; while :; do sleep 3600; done")
	r := started(t, s, server(c))
	line(t, r.Stdout)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-r.Done()
	if got := r.Exit(); got != "killed by SIGKILL" {
		t.Errorf("exit %q", got)
	}
	if _, err := s.Start(t.Context(), server(c)); !errors.Is(err, errClosed) {
		t.Errorf("another start: %v", err)
	}
}

// Many servers at once each have their own streams, beside commands.
func TestServersParallel(t *testing.T) {
	s := supervisor(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			r, err := s.Start(t.Context(), server(shell(t, echo)))
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintln(r.Stdin, i)
			if got, err := bufio.NewReader(r.Stdout).ReadString('\n'); got != fmt.Sprintf("you said %d\n", i) {
				t.Errorf("%d: %q, %v", i, got, err)
			}
			if o, err := s.Run(t.Context(), shell(t, fmt.Sprint("echo ", i))); err != nil || o.Stdout.String() != fmt.Sprintln(i) {
				t.Errorf("%d: %+v, %v", i, o, err)
			}
			if err := r.Stop(time.Hour); err != nil || r.Exit() != "exit status 0" {
				t.Errorf("%d: %s, %v", i, r.Exit(), err)
			}
		})
	}
	wg.Wait()
	if len(s.links) > 1 { // one is for commands
		t.Errorf("%d supervisors are left", len(s.links))
	}
}

// Rows E1 to E6, as the server itself sees it.
func TestServerEnvironment(t *testing.T) {
	base := self(t, "env")
	srv := server(base)
	srv.Environ = []string{
		"PATH=/usr/bin:/bin", "HOME=/home/of-the-runtime", "LANG=C",
		"AWS_SECRET_ACCESS_KEY=leak", "GITHUB_TOKEN=leak", "DATABASE_URL=leak", "ANTHROPIC_API_KEY=leak", "OPENAI_API_KEY=leak", "GEMINI_API_KEY=leak",
		"NODE_PATH=leak", "MY_PASSWORD=leak", "npm_config_registry=leak",
	}
	srv.Env = map[string]string{
		"PATH": "evil", "HOME": "evil", "NODE_PATH": "evil", // E2
		"LD_PRELOAD": "evil", "LD_LIBRARY_PATH": "evil", "DYLD_INSERT_LIBRARIES": "evil", "NODE_OPTIONS": "evil", "PYTHONPATH": "evil", // E3
		"path": "evil", "Path": "evil", "ld_preload": "evil", "Ld_Preload": "evil", "node_options": "evil", // E4
		"npm_config_registry": "evil", "HTTP_PROXY": "evil", // M7
		"SEARCH_API_KEY": "asked for", "DEBUG": "1", // E5
	}
	srv.Set = map[string]string{"npm_config_ignore_scripts": "true", "UV_NO_BUILD": "1", "LANG": "ours"}
	r := started(t, supervisor(t), srv)
	out, err := io.ReadAll(r.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	want := `DEBUG=1
HOME=/home/of-the-runtime
LANG=ours
PATH=/usr/bin:/bin
SEARCH_API_KEY=asked for
UV_NO_BUILD=1
npm_config_ignore_scripts=true`
	if string(out) != want {
		t.Errorf("environment:\n%s", out)
	}
	// E6: nothing that passes by itself is called like a secret.
	for _, name := range strings.Fields("PATH HOME SHELL TERM LANG LC_ALL TZ TMPDIR HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY MY_SECRET A_TOKEN PASSWORD API_KEY") {
		_, passes := safe(name, "x")
		if secret := regexp.MustCompile("SECRET|TOKEN|PASSWORD|KEY").MatchString(name); secret == passes {
			t.Errorf("%s passes: %t", name, passes)
		}
	}
}

// Commands are told what this program decided in the same way.
func TestRunSet(t *testing.T) {
	c := self(t, "env")
	c.Environ = []string{"PATH=/bin", "LANG=C"}
	c.Env = map[string]string{"NPM_CONFIG_CACHE": "evil", "A": "asked for"}
	c.Set = map[string]string{"NPM_CONFIG_CACHE": "ours", "A": "ours"}
	if got := run(t, c).Stdout.String(); got != "A=ours\nLANG=C\nNPM_CONFIG_CACHE=ours\nPATH=/bin" {
		t.Errorf("environment:\n%s", got)
	}
	c.Set = map[string]string{"A\x00": ""}
	if _, err := supervisor(t).Run(t.Context(), c); !errors.Is(err, ErrInvalid) {
		t.Errorf("error %v", err)
	}
}
