package registry

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

func user(t *testing.T) (h *host.Host, out, errs *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &host.Host{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Dir: t.TempDir(), Home: home, Command: "perstack", Source: engine.SystemSource(),
		Environ: []string{"XDG_CONFIG_HOME=" + filepath.Join(home, "c"), "AppData=" + filepath.Join(home, "c"), "XDG_STATE_HOME=" + filepath.Join(home, "s"), "LocalAppData=" + home},
	}, out, errs
}

func call(t *testing.T, h *host.Host, args ...string) error {
	t.Helper()
	cmd := New(h)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	called, err := cmd.ExecuteContextC(t.Context())
	return h.Report(called, args, err)
}

// A log with entries that contradict each other is reported, with exit code 1.
func TestAuditProblems(t *testing.T) {
	r := registrytest.New(t, httptest.NewServer)
	r.Publish(registrytest.Minimal("@acme/x@1.0.0"), "")
	r.Publish(registrytest.Minimal("@acme/x@1.0.0"), "")
	r.Publish(registrytest.Minimal("@acme/y@1.0.0"), "")
	h, out, _ := user(t)
	err := call(t, h, "audit", r.URL, "--scope", "@acme/x")
	if host.ExitCode(err) != host.ExitFailure || host.Describe(err) != "" || !strings.Contains(out.String(), "Found 1 problem\n  entry 1: ") || !strings.Contains(out.String(), "Entries about @acme/x: 2\n") {
		t.Errorf("%v: %s", err, out)
	}
	out.Reset()
	if err := call(t, h, "audit", r.URL, "--json"); host.ExitCode(err) != host.ExitFailure || !strings.Contains(out.String(), `"ok": false`) || strings.Contains(out.String(), `"error"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// A registry that tells another history than before is refused, with the evidence.
func TestAuditFork(t *testing.T) {
	r := registrytest.New(t, httptest.NewServer)
	r.Publish(registrytest.Minimal("@acme/x@1.0.0"), "")
	other := r.Rewritten(httptest.NewServer)
	other.Publish(registrytest.Minimal("@acme/z@1.0.0"), "")
	h, out, _ := user(t)
	if err := call(t, h, "audit", r.URL); err != nil {
		t.Fatal(err)
	}
	r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		other.ServeHTTP(w, q)
		return true
	}
	out.Reset()
	err := call(t, h, "audit", r.URL, "--json")
	if host.ExitCode(err) != host.ExitFailure || !strings.Contains(out.String(), `"kind": "verificationFailed"`) || !strings.Contains(out.String(), `"evidence": `) {
		t.Errorf("%v: %s", err, out)
	}
}

// A clock says what a test wants.
type clock struct {
	engine.Source
	now *time.Time
}

func (c clock) Now() time.Time { return *c.now }

// On a terminal, a long log shows how far it is.
func TestAuditProgress(t *testing.T) {
	h, _, errs := user(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h.Source = clock{h.Source, &now}
	if (&auditOptions{host: h}).progress() != nil {
		t.Error("a pipe gets progress")
	}
	h.StderrIsTerminal = true
	progress := (&auditOptions{host: h}).progress()
	for _, read := range []int64{256, 512, 768, 1000} {
		now = now.Add(700 * time.Millisecond)
		progress(read, 1000)
	}
	if got := errs.String(); got != "perstack: 512 of 1000 log entries read\n" {
		t.Errorf("%q", got)
	}
}
