package audit

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/job"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args []string
		want Options
		err  string
	}{
		{args: nil, want: Options{Format: "text"}},
		{args: []string{"a"}, want: Options{Format: "text", Expert: "a"}},
		{args: []string{"a", "--config", "c.toml", "--format", "sarif", "--report", "d"}, want: Options{Format: "sarif", Expert: "a", Config: "c.toml", Report: "d"}},
		{args: []string{"a", "b"}, err: "expected at most one Expert, got 2 arguments; call it as: perstack audit [expert]"},
		{args: []string{""}, err: "the name of the Expert is empty; call it as: perstack audit [expert]"},
		{args: []string{"--format", "xml"}, err: `--format "xml" is not known; use text, json or sarif`},
		{args: []string{"--report", ""}, err: "--report is given without a value"},
		{args: []string{"--config", "c.toml"}, err: "--config is for the review of an Expert; name one: perstack audit <expert>"},
		{args: []string{"--env-path", ".env"}, err: "--env-path is for the review of an Expert; name one: perstack audit <expert>"},
	} {
		var got *Options
		cmd := New(&host.Host{}, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{}, test.args...))
		err := cmd.Execute()
		if test.err != "" {
			if err == nil || err.Error() != test.err || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%q: error = %v, want usage error %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		if got.Expert != test.want.Expert || got.Format != test.want.Format || got.Config != test.want.Config || got.Report != test.want.Report {
			t.Errorf("%q: options = %+v, want %+v", test.args, got, test.want)
		}
	}
}

// project is everything that a review looks for.
const project = `runtime = "local"
[provider]
providerName = "openai"
[provider.setting]
baseUrl = "https://models.example.com/v1"
[sandbox]
mode = "off"

[experts."@acme/lead"]
instruction = "Lead.` + "\u200b" + `"
delegates = ["writer", "@other/gone"]
[experts."@acme/lead".skills."@perstack/base"]
type = "mcpStdioSkill"
command = "npx"
packageName = "@perstack/base"
omit = ["exec"]
[experts."@acme/lead".skills.own]
type = "mcpStdioSkill"
command = "/opt/own-server"

[experts.writer]
instruction = "Write."
[experts.writer.skills.search]
type = "mcpStdioSkill"
command = "npx"
packageName = "search-server"
requiredEnv = ["SEARCH_KEY"]
allowedDomains = ["*.example.com"]
[experts.writer.skills.remote]
type = "mcpSseSkill"
endpoint = "https://10.0.0.1/mcp"
allowPrivateEndpoint = true
`

type world struct {
	*testing.T
	dir      string
	out, err bytes.Buffer
	opts     *Options
}

// A clock is a second later each time.
type clock struct {
	engine.Source
	at time.Time
}

func (c *clock) Now() time.Time {
	c.at = c.at.Add(time.Second)
	return c.at
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, dir: t.TempDir()}
	w.opts = &Options{
		Host: &host.Host{Stdout: &w.out, Stderr: &w.err, Dir: w.dir, Home: t.TempDir(), Source: &clock{engine.SystemSource(), time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)}},
		Versions: func(context.Context, *host.Host, bool) []audit.Version {
			return []audit.Version{{Name: "perstack", Version: "0.1.0"}}
		},
		SelfTest: func(context.Context, *host.Host) ([]audit.Promise, func() error, error) {
			return nil, func() error { return nil }, nil
		},
		Format: formatText,
	}
	w.write("perstack.toml", project)
	return w
}

func (w *world) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) run() int {
	w.Helper()
	w.out.Reset()
	w.err.Reset()
	err := run(w.Context(), w.opts)
	if err != nil && err.Error() != "" {
		w.err.WriteString(err.Error())
	}
	return host.ExitCode(err)
}

func (w *world) shown() string { return strings.ReplaceAll(w.out.String(), w.dir, "DIR") }

// The review uses the level that a run would use: that of the file, or else the default.
func TestReviewSandbox(t *testing.T) {
	const expertWithCommands = "\n[experts.dev]\ninstruction = \"Develop.\"\n"
	byDefault := ""
	if !job.DefaultSandbox.Restricts() {
		byDefault = "sandbox-off open-network"
	}
	for _, test := range []struct{ settings, want string }{
		{"", byDefault},
		{"[sandbox]\nmode = 'off'", "sandbox-off open-network"},
		{"[sandbox]\nmode = 'auto'", ""},
		{"[sandbox]\nmode = 'full'", ""},
		{"[sandbox]\nmode = 'auto'\nnetwork = 'host'", "open-network"},
		{"runtime = 'docker'", ""},
	} {
		w := newWorld(t)
		w.write("perstack.toml", test.settings+expertWithCommands)
		w.opts.Expert, w.opts.Format = "dev", formatSARIF
		w.run()
		var found []string
		for _, kind := range []string{audit.SandboxOff, audit.OpenNetwork} {
			if strings.Contains(w.out.String(), `"ruleId": "`+kind+`"`) {
				found = append(found, kind)
			}
		}
		if got := strings.Join(found, " "); got != test.want {
			t.Errorf("%q: found %q, want %q: %s", test.settings, got, test.want, &w.err)
		}
	}
}

func TestReview(t *testing.T) {
	w := newWorld(t)
	w.opts.Expert = "@acme/lead"
	if code := w.run(); code != host.ExitFailure {
		t.Errorf("exit code %d: %s", code, &w.err)
	}
	testkit.Golden(t, "review.txt", w.shown())
	w.opts.Format = formatSARIF
	w.run()
	testkit.Golden(t, "review.sarif", w.shown())
	for _, k := range []string{audit.UnpinnedPackage, audit.WildcardDomain, audit.SecretWayOut, audit.CustomCommand, audit.HiddenText, audit.MissingLimits,
		audit.SandboxOff, audit.OpenNetwork, audit.UnknownDelegate, audit.UnknownTools, audit.PrivateEndpoint, audit.OtherProvider} {
		if !strings.Contains(w.out.String(), `"ruleId": "`+k+`"`) {
			t.Errorf("%s was not found", k)
		}
	}
}

// Each kind that the first project does not have.
func TestReviewMore(t *testing.T) {
	for name, c := range map[string]struct{ toml, want string }{
		"network of a file": {"runtime = \"docker\"\n[docker]\nnetwork = \"shared\"\n[experts.a]\ninstruction = \"x\"\n", audit.HostNetwork},
		"key of a provider": {"[experts.a]\ninstruction = \"x\"\n[experts.a.skills.s]\ntype = \"mcpStdioSkill\"\ncommand = \"x\"\nrequiredEnv = [\"OPENAI_API_KEY\"]\n", audit.ProviderKey},
		"a shell":           {"[experts.a]\ninstruction = \"x\"\n[experts.a.skills.s]\ntype = \"mcpStdioSkill\"\ncommand = \"sh\"\nargs = [\"-c\", \"x\"]\n", audit.UncheckedCommand},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("perstack.toml", c.toml)
			w.opts.Expert, w.opts.Format = "a", formatSARIF
			w.run()
			if !strings.Contains(w.out.String(), `"ruleId": "`+c.want+`"`) {
				t.Errorf("%s was not found in\n%s%s", c.want, &w.out, &w.err)
			}
		})
	}
}

// An Expert that cannot do much has no serious finding.
func TestReviewOfAHarmlessExpert(t *testing.T) {
	w := newWorld(t)
	w.write("perstack.toml", `maxDuration = "1h"
maxTokens = 100000
[experts.a]
instruction = "x"
[experts.a.skills."@perstack/base"]
type = "mcpStdioSkill"
command = "npx"
packageName = "@perstack/base"
omit = ["exec"]
`)
	w.opts.Expert = "a"
	if code := w.run(); code != host.ExitOK || !strings.Contains(w.out.String(), "Ready: yes") {
		t.Errorf("exit code %d:\n%s%s", code, &w.out, &w.err)
	}
}

// The second report keeps the ids, and says what was fixed.
func TestReportFiles(t *testing.T) {
	w := newWorld(t)
	w.opts.Expert, w.opts.Report = "@acme/lead", "audits"
	w.run()
	first, err := os.ReadFile(filepath.Join(w.dir, "audits", "2026-11-17T12-00-01_audit_report.md"))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "report.md", strings.ReplaceAll(string(first), w.dir, "DIR"))

	w.write("perstack.toml", strings.ReplaceAll(project, "\u200b", ""))
	w.run()
	if !strings.Contains(w.out.String(), "Since 2026-11-17T12:00:01Z: fixed SEC-") || !strings.Contains(w.out.String(), "; new none") {
		t.Errorf("%s%s", &w.out, &w.err)
	}
	names, err := os.ReadDir(filepath.Join(w.dir, "audits"))
	if err != nil || len(names) != 4 {
		t.Errorf("%v, %v", names, err)
	}
	if info, err := names[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	// A report that was damaged is not skipped.
	w.write("audits/2026-11-17T12-00-02_audit_report.json", "{")
	if code := w.run(); code != host.ExitUsage || !strings.Contains(w.err.String(), "2026-11-17T12-00-02_audit_report.json is not valid") {
		t.Errorf("exit code %d: %s", code, &w.err)
	}
}

// The self-test fails if one promise does, shows its progress on a terminal, and cleans up.
func TestSelfTest(t *testing.T) {
	w := newWorld(t)
	released := false
	result := audit.Hold(audit.BuiltIn, "tried")
	w.opts.SelfTest = func(context.Context, *host.Host) ([]audit.Promise, func() error, error) {
		return []audit.Promise{{ID: "E1", Area: "Environment", Text: "It holds.", Severity: audit.High, Test: "a.TestA", Probe: func(context.Context) audit.Result { return result }}},
			func() error { released = true; return nil }, nil
	}
	if code := w.run(); code != host.ExitOK || !released || w.err.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, &w.out, &w.err)
	}
	w.opts.Host.StderrIsTerminal = true
	result = audit.Break(audit.BuiltIn, "it did not")
	if code := w.run(); code != host.ExitFailure || !strings.Contains(w.out.String(), "SEC-301 High, Open") {
		t.Errorf("exit code %d: %s%s", code, &w.out, &w.err)
	}
	if want := "\r\x1b[Klooking at this machine\r\x1b[K0 of 1 promises tested; testing E1\r\x1b[K1 of 1 promises tested\r\x1b[K"; w.err.String() != want {
		t.Errorf("progress is %q", w.err.String())
	}
}
