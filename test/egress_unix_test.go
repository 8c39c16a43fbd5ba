//go:build unix

package test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/egress"
)

// The proxy as a program: a real client is refused with the reason, the line is there when
// the client has its answer, and each way to end it has its code.
func TestEgressProgram(t *testing.T) {
	const policy = `{"listeners":[{"name":"g","address":"127.0.0.1:0","allow":["localhost"],"token":"kX82mQ0vT4nB7cLw9rJd"}]}` + "\n"
	for what, test := range map[string]struct {
		end  func(cmd *exec.Cmd, stdin io.Closer) error
		code int
	}{
		"end of input": {func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() }, 0},
		"interrupt":    {func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(os.Interrupt) }, 130},
		"termination":  {func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) }, 143},
	} {
		cmd := exec.Command("perstack", "egress", "--policy", "-")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(stdin, policy); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		next := func() (l egress.Line) {
			t.Helper()
			if !lines.Scan() {
				t.Fatalf("%s: no line; %s", what, stderr.String())
			}
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatal(err)
			}
			return l
		}
		listener := next().Ready[0]
		for target, want := range map[string]string{
			"https://example.com/": egress.ReasonDomain, "https://127.0.0.1/": egress.ReasonHost, "https://localhost/": egress.ReasonAddress, "http://localhost/": egress.ReasonMethod,
			"https://localhost:8443/": egress.ReasonPort,
		} {
			proxy := &url.URL{Scheme: "http", User: url.UserPassword("perstack", "kX82mQ0vT4nB7cLw9rJd"), Host: listener.Address}
			transport := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return proxy, nil }}
			resp, err := (&http.Client{Transport: transport}).Get(target)
			if err == nil {
				_ = resp.Body.Close()
				if resp.StatusCode < 400 {
					t.Errorf("%s is reached", target)
				}
			}
			transport.CloseIdleConnections()
			if a := next().Access; a == nil || a.Allowed || a.Reason != want {
				t.Errorf("%s: reported %+v, want %s", target, a, want)
			}
		}
		if err := test.end(cmd, stdin); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(stdout)
		err = cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != test.code || len(rest) > 0 || strings.Contains(stderr.String(), "kX82") {
			t.Errorf("%s: exit code %d, want %d; %s%s", what, code, test.code, rest, fmt.Sprint(&stderr))
		}
	}
}
