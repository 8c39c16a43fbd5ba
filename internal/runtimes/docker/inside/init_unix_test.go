//go:build unix

package inside

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
)

// A started is this test, started as a container starts it.
type started struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr strings.Builder
}

// startAs starts this test with the arguments of a process. TestMain calls Init.
func startAs(t *testing.T, argv ...string) *started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// What an image sets can be a secret: it must not be printed.
	s := &started{cmd: &exec.Cmd{Path: self, Args: argv, Env: append(os.Environ(), "OPENAI_API_KEY=sk-canary-0123456789")}}
	s.cmd.Stderr = &s.stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdout = bufio.NewReader(stdout)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

// exit is the exit code, when the process has ended by itself.
func (s *started) exit(t *testing.T) int {
	t.Helper()
	if _, err := io.Copy(io.Discard, s.stdout); err != nil {
		t.Error(err)
	}
	_ = s.cmd.Wait() // the code says it
	return s.cmd.ProcessState.ExitCode()
}

func (s *started) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.stdin, text); err != nil {
		t.Fatal(err)
	}
}

const listeners = `{"listeners":[{"name":"engine","address":"127.0.0.1:0","allow":[]}]}` + "\n"

// Init does the work of a container, and ends with the code of what happened there.
func TestInit(t *testing.T) {
	asProxy := append([]string{Program}, ProxyArgs()...)
	ready := func(t *testing.T) *started {
		s := startAs(t, asProxy...)
		s.send(t, listeners)
		if line, err := s.stdout.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"ready":[{"name":"engine"`) {
			t.Fatalf("%q, %v", line, err)
		}
		return s
	}
	t.Run("the input of the proxy ends", func(t *testing.T) {
		s := ready(t)
		s.stdin.Close()
		if code := s.exit(t); code != 0 || s.stderr.Len() > 0 {
			t.Errorf("exit code %d: %s", code, s.stderr.String())
		}
	})
	t.Run("its environment", func(t *testing.T) {
		// Where it can be read, as by root, it was erased.
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", ready(t).cmd.Process.Pid))
		if err == nil && strings.Contains(string(data), "canary") {
			t.Error("the process was not hardened")
		}
	})
	t.Run("a signal for the proxy", func(t *testing.T) {
		s := ready(t)
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := s.exit(t); code != 143 || s.stderr.String() != "perstack: stopping; interrupt again to quit at once\n" {
			t.Errorf("exit code %d: %s", code, s.stderr.String())
		}
	})
	t.Run("no listeners", func(t *testing.T) {
		s := startAs(t, asProxy...)
		s.send(t, `{"sk-canary-0123456789":1}`+"\n")
		if code := s.exit(t); code != exitUsage || !strings.HasPrefix(s.stderr.String(), "perstack: the policy cannot be read: \"/[redacted: OPENAI_API_KEY]\" is unknown") {
			t.Errorf("exit code %d: %s", code, s.stderr.String())
		}
	})
	t.Run("Squid with a name as its name server", func(t *testing.T) {
		s := startAs(t, append([]string{Program}, SquidArgs([]string{"dns.test"})...)...)
		if code := s.exit(t); code != exitUsage || !strings.Contains(s.stderr.String(), "must be an address") {
			t.Errorf("exit code %d: %s", code, s.stderr.String())
		}
	})
	t.Run("the engine", func(t *testing.T) {
		s := startAs(t, append([]string{Program}, EngineArgs()...)...)
		lines := hostlink.NewReader(s.stdout)
		if up, err := lines.Up(); err != nil || up.Hello == nil {
			t.Fatalf("%+v, %v", up, err)
		}
		s.send(t, "hello\n")
		if up, err := lines.Up(); err != nil || up.End == nil || up.End.Error == "" {
			t.Errorf("%+v, %v", up, err)
		}
		if code := s.exit(t); code != exitFailure || s.stderr.Len() > 0 {
			t.Errorf("exit code %d: %s", code, s.stderr.String())
		}
	})
	t.Run("of another version", func(t *testing.T) {
		for _, args := range [][]string{{}, {"later"}, {partEngine, "x"}, {partProxy, "x"}} {
			s := startAs(t, append([]string{Program, mark}, args...)...)
			if code := s.exit(t); code != exitUsage || !strings.Contains(s.stderr.String(), "this version of perstack") {
				t.Errorf("%q: exit code %d: %s", args, code, s.stderr.String())
			}
		}
	})
}

// A program that was not started by a container runs its main function, whatever it is told.
func TestInitOutside(t *testing.T) {
	for _, argv := range [][]string{
		{Program, "-test.run=^$"},
		{Program, "-test.run=^$", mark, partProxy},
		{"/usr/bin/perstack", "-test.run=^$", mark, partProxy},
	} {
		s := startAs(t, argv...)
		out, err := io.ReadAll(s.stdout)
		if code := s.exit(t); code != 0 || err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%q: exit code %d, %v: %s%s", argv, code, err, out, s.stderr.String())
		}
	}
	if !InitCalled() {
		t.Error("TestMain has called Init, and it was not noticed")
	}
}
