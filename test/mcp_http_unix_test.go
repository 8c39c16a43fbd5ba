//go:build unix

package test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/rawjson"
)

// A httpServer is perstack mcp base --http.
type httpServer struct {
	cmd        *exec.Cmd
	url, token string
	stdout     *lines
	stderr     *lines
}

var (
	printedURL   = regexp.MustCompile(`(?m)^Listening on (http://127\.0\.0\.1:[0-9]+/mcp)$`)
	printedToken = regexp.MustCompile(`Authorization: Bearer ([A-Z2-7]{26,})`)
)

// serveHTTP starts the server and reads where it is, and its token, from what it prints.
func serveHTTP(t *testing.T, dir string, args ...string) *httpServer {
	t.Helper()
	s := &httpServer{cmd: exec.Command("perstack", append([]string{"mcp", "base", "--http"}, args...)...), stdout: &lines{}, stderr: &lines{}}
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, s.stdout, s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	s.stderr.wait(t, "/mcp\n")
	s.url = printedURL.FindStringSubmatch(s.stderr.String())[1]
	if !strings.Contains(strings.Join(args, " "), "--token-file") {
		waitFor(t, func() bool {
			return strings.HasSuffix(s.stderr.String(), "\n") && printedToken.MatchString(s.stderr.String())
		})
		s.token = printedToken.FindStringSubmatch(s.stderr.String())[1]
	}
	return s
}

// end sends a signal and returns the exit code.
func (s *httpServer) end(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return exitCode(t, s.cmd.Wait())
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (s *httpServer) connect(t *testing.T, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer(s.token)}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func callText(t *testing.T, session *mcp.ClientSession, tool, args string) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: rawjson.Value(args)})
	if err != nil {
		t.Fatal(err)
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// The token is printed once, and is a secret from then on: a command cannot find it, and
// what could show it does not.
func TestHTTPServerKeepsItsToken(t *testing.T) {
	dir := t.TempDir()
	s := serveHTTP(t, dir, "--verbose")
	session := s.connect(t, nil)
	write(t, filepath.Join(dir, "found.txt"), s.token) // by somebody who copied it
	for _, args := range []string{`{"command":"cat","args":["found.txt"]}`, `{"command":"sh","args":["-c","env; cat /proc/$PPID/environ /proc/$PPID/cmdline; cat found.txt >&2"]}`} {
		if got := callText(t, session, "exec", args); strings.Contains(got, s.token) || !strings.Contains(got, "[redacted: token]") {
			t.Errorf("exec %s: %s", args, got)
		}
	}
	if got := callText(t, session, "readTextFile", `{"path":"found.txt"}`); strings.Contains(got, s.token) {
		t.Errorf("readTextFile: %s", got)
	}
	if code := s.end(t, syscall.SIGTERM); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	if n := strings.Count(s.stderr.String(), s.token); n != 1 {
		t.Errorf("the token was printed %d times:\n%s", n, s.stderr)
	}
	if s.stdout.String() != "" {
		t.Errorf("on standard output: %s", s.stdout)
	}
}

// A signal ends the server, and with it the command that a client has under way.
func TestHTTPServerEnds(t *testing.T) {
	dir := t.TempDir()
	s := serveHTTP(t, dir)
	begun := make(chan struct{}, 1)
	session := s.connect(t, &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
		select {
		case begun <- struct{}{}:
		default:
		}
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		params := &mcp.CallToolParams{Name: "exec", Arguments: rawjson.Value(`{"command":"sh","args":["-c","echo $$ > pid.part && mv pid.part pid; echo begun; exec sleep 1000"],"timeout":0}`)}
		params.SetProgressToken("p")
		_, _ = session.CallTool(t.Context(), params) // the connection may break first
	}()
	<-begun
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if code := s.end(t, syscall.SIGINT); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, s.stderr)
	}
	waitFor(t, func() bool { return syscall.Kill(pid, 0) != nil })
	<-ended
}

// Our own client reaches the server with a token from the environment, as it would any
// server of the user's.
func TestHTTPServerWithOurOwnClient(t *testing.T) {
	dir, served := t.TempDir(), t.TempDir()
	write(t, filepath.Join(served, "a.txt"), "alpha\n")
	s := serveHTTP(t, served)
	write(t, filepath.Join(dir, "perstack.toml"), fmt.Sprintf(`[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"
[experts.user]
instruction = "Use the tools."
[experts.user.skills.far]
type = "mcpHttpSkill"
endpoint = %q
allowPrivateEndpoint = true
toolPrefix = true
requiredEnv = ["FAR_TOKEN"]
headers = { Authorization = "Bearer ${FAR_TOKEN}" }
`, s.url))
	write(t, filepath.Join(dir, "cassette.toml"), `[[turn]]
[[turn.call]]
id = "far"
tool = "far__readTextFile"
args = { path = "a.txt" }
[[turn]]
text = "Done."
`)
	run := func(token string) (string, int) {
		cmd := exec.Command("perstack", "run", "user", "go")
		cmd.Dir, cmd.Env = dir, append(cmd.Environ(), "FAR_TOKEN="+token)
		out, err := cmd.CombinedOutput()
		return string(out), exitCode(t, err)
	}
	out, code := run(s.token)
	if code != 0 || !strings.Contains(out, `alpha`) || !strings.Contains(out, `"`+string("resolveToolResults")+`"`) {
		t.Errorf("exit code %d: %s", code, out)
	}
	if strings.Contains(out, s.token) {
		t.Error("the token is in what the run prints")
	}
	const wrong = "Xq7Lm2Rz9Wp0Ns4vQ8xTb6"
	if out, code := run(wrong); code == 0 || !strings.Contains(out, "401") && !strings.Contains(out, "login") || strings.Contains(out, wrong) {
		t.Errorf("with a wrong token: exit code %d: %s", code, out)
	}
}
