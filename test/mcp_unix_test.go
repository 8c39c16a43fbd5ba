//go:build unix

package test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A server is perstack mcp base with a command of its client under way.
type server struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	command int // the process id of what the client runs
}

// startServer starts it, and has the client run a command that does not end by itself.
func startServer(t *testing.T) server {
	t.Helper()
	dir := t.TempDir()
	s := server{cmd: exec.Command("perstack", "mcp", "base")}
	s.cmd.Dir = dir
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in = in
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const requests = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"exec","arguments":{"command":"sh","args":["-c","echo $$ > pid.part && mv pid.part pid; echo begun; exec sleep 1000"],"timeout":0}}}
`
	if _, err := io.WriteString(in, requests); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		if strings.Contains(scanner.Text(), `"method":"notifications/progress"`) {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatalf("the command did not start: %v", err)
	}
	if s.command, err = strconv.Atoi(strings.TrimSpace(string(pid))); err != nil {
		t.Fatal(err)
	}
	return s
}

// gone waits for the death of the client's command.
func (s server) gone(t *testing.T) {
	t.Helper()
	waitFor(t, func() bool { return syscall.Kill(s.command, 0) != nil })
}

// However the server is ended, the commands of its client end with it, and the exit code
// says how.
func TestServerEnds(t *testing.T) {
	tests := []struct {
		name string
		end  func(*testing.T, server) error
		code int
	}{
		{"input closed", func(_ *testing.T, s server) error { return s.in.Close() }, 0},
		{"SIGINT", func(_ *testing.T, s server) error { return s.cmd.Process.Signal(syscall.SIGINT) }, 130},
		{"SIGTERM", func(_ *testing.T, s server) error { return s.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"SIGKILL", func(_ *testing.T, s server) error { return s.cmd.Process.Kill() }, -1},
		{"call cancelled, then closed", func(t *testing.T, s server) error {
			if _, err := fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`); err != nil {
				return err
			}
			s.gone(t) // while the server keeps running
			return s.in.Close()
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startServer(t)
			if err := tt.end(t, s); err != nil {
				t.Fatal(err)
			}
			s.gone(t)
			if code := exitCode(t, s.cmd.Wait()); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
		})
	}
}
