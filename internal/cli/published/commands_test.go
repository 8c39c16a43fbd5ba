package published_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/publish"
	"github.com/perstack-go/perstack/internal/cli/status"
	"github.com/perstack-go/perstack/internal/cli/tag"
	"github.com/perstack-go/perstack/internal/cli/unpublish"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

const file = `[experts."@acme/lead"]
version = "1.2.0"
description = "Leads"
instruction = "You lead."
delegates = ["@acme/reader"]

[experts."@acme/reader"]
description = "Reads"
instruction = "You read."

[experts."@acme/reader".skills.search]
type = "mcpStdioSkill"
command = "npx"
packageName = "search-mcp"
requiredEnv = ["SEARCH_KEY"]
`

// A world is a project of a publisher, and the registry.
type world struct {
	t        *testing.T
	registry *registrytest.Registry
	dir      string // of the project
	home     string
	environ  []string
	answer   func(question string) bool // nil without a terminal
}

func newWorld(t *testing.T, text string) *world {
	t.Helper()
	w := &world{t: t, registry: registrytest.New(t, httptest.NewServer), dir: t.TempDir(), home: t.TempDir()}
	w.registry.Key = "secret-of-acme"
	w.environ = []string{"PERSTACK_API_KEY=secret-of-acme", "XDG_STATE_HOME=" + filepath.Join(w.home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(w.home, "config")}
	w.write(filepath.Join(w.home, "config", "perstack", "config.toml"), "[registries.default]\nurl = \""+w.registry.URL+"\"\n")
	w.write(filepath.Join(w.dir, "perstack.toml"), text)
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// run runs a command, and returns what it prints and its exit code.
func (w *world) run(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	var out, errs bytes.Buffer
	h := &host.Host{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: w.dir, Home: w.home, Environ: w.environ, Command: "perstack", Source: engine.SystemSource(),
	}
	if w.answer != nil {
		h.Confirmer = func(_ context.Context, question string) (bool, error) { return w.answer(question), nil }
	}
	root := &cobra.Command{Use: "perstack", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(publish.New(h, nil), unpublish.New(h, nil), tag.New(h, nil), status.New(h, nil))
	root.SetArgs(args)
	root.SetOut(&out)
	cmd, err := root.ExecuteContextC(w.t.Context())
	err = h.Report(cmd, args, err)
	return out.String(), errs.String(), host.ExitCode(err)
}

// want runs a command, and checks the exit code and what it prints.
func (w *world) want(code int, text string, args ...string) string {
	w.t.Helper()
	stdout, stderr, got := w.run(args...)
	if got != code || !strings.Contains(stdout+stderr, text) {
		w.t.Errorf("%q: exit code %d, want %d and %q:\n%s%s", args, got, code, text, stdout, stderr)
	}
	if strings.Contains(stdout+stderr, "secret-of-acme") {
		w.t.Errorf("%q prints the key", args)
	}
	return stdout
}

// changes are the requests that could have changed something.
func (w *world) changes() (all []string) {
	for _, path := range w.registry.Paths() {
		if !strings.HasPrefix(path, "GET ") && !strings.HasSuffix(path, "/resolve") {
			all = append(all, path)
		}
	}
	return all
}

// An Expert is published after its delegates, and found in the log.
func TestPublish(t *testing.T) {
	w := newWorld(t, file)
	w.want(2, "publish them first, in this order:\n  perstack publish @acme/reader\n  perstack publish @acme/lead\n", "publish", "@acme/lead")
	if w.registry.Size() != 0 {
		t.Error("something was published")
	}
	out := w.want(0, "Published @acme/reader@1.0.0\n", "publish", "@acme/reader", "--tag", "next")
	for _, text := range []string{"  Registry: " + w.registry.URL, "  Digest: sha256:", "  Log entry: 0\n", "  Tags: next\n", `  Run it: perstack run @acme/reader@1.0.0 "…"`} {
		if !strings.Contains(out, text) {
			t.Errorf("there is no %q in\n%s", text, out)
		}
	}
	w.want(0, "package: npx search-mcp", "publish", "@acme/lead") // what its delegate can do
	w.want(1, `perstack.toml:2:1: experts."@acme/lead".version: @acme/lead@1.2.0 is already published, with the same content; raise the version`, "publish", "@acme/lead")
	w.write(filepath.Join(w.dir, "perstack.toml"), strings.Replace(file, "You lead.", "You do.", 1))
	w.want(1, "is already published, with other content", "publish", "@acme/lead")
	w.write(filepath.Join(w.dir, "perstack.toml"), strings.Replace(strings.Replace(file, "1.2.0", "1.3.0", 1), "You read.", "You read books.", 1))
	w.want(0, "@acme/reader@1.0.0 in the registry is not what your file has", "publish", "@acme/lead")
}

// All faults are told at once, with their lines, and nothing is sent.
func TestFaults(t *testing.T) {
	w := newWorld(t, `[experts.a]
version = "1.0.0+build"
instruction = "Use sk-ant-0123456789012345678901234567890123456789"

[experts.a.skills.run]
type = "mcpStdioSkill"
command = "python3"
args = ["x.py"]

[experts.a.skills.more]
type = "mcpStdioSkill"
command = "npx"
args = ["-y", "tool", "--flag"]
`)
	_, stderr, code := w.run("publish")
	for _, text := range []string{
		"perstack.toml:2:1: experts.a.version:", "perstack.toml:3:1: experts.a.instruction: has what looks like a key of Anthropic",
		"experts.a.description: is missing", "perstack.toml:7:1: experts.a.skills.run.command:", "perstack.toml:13:1: experts.a.skills.more.args: only a package can be published",
	} {
		if !strings.Contains(stderr, text) {
			t.Errorf("there is no %q in\n%s", text, stderr)
		}
	}
	if code != 2 || strings.Count(stderr, "\n") != 5 || len(w.registry.Paths()) > 0 {
		t.Errorf("exit code %d, requests %q:\n%s", code, w.registry.Paths(), stderr)
	}
}

// Experts that delegate in a circle cannot be published.
func TestCircle(t *testing.T) {
	w := newWorld(t, "[experts.a]\ndescription = \"A\"\ninstruction = \"x\"\ndelegates = [\"b\"]\n[experts.b]\ndescription = \"B\"\ninstruction = \"x\"\ndelegates = [\"a\"]\n")
	w.want(2, "perstack.toml:4:1: experts.a.delegates: form a circle", "publish", "a")
}

// A dry run does everything but write.
func TestDryRun(t *testing.T) {
	w := newWorld(t, file)
	out := w.want(0, "The registry would accept it.", "publish", "@acme/reader", "--dry-run")
	text, ok := strings.CutPrefix(out, "Dry run - would publish:\n")
	var d definition.Definition
	if err := json.Unmarshal([]byte(text), &d); !ok || err != nil || d.Key() != "@acme/reader@1.0.0" || !strings.Contains(text, "\n  \"name\"") {
		t.Errorf("%v:\n%s", err, out)
	}
	w.want(2, "publish them first", "publish", "@acme/lead", "--dry-run")
	var result struct {
		DryRun        bool                  `json:"dryRun"`
		RegistryCheck map[string]any        `json:"registryCheck"`
		Definition    definition.Definition `json:"definition"`
		Advisories    []string              `json:"advisories"`
	}
	if err := json.Unmarshal([]byte(w.want(0, "", "publish", "@acme/reader", "--dry-run", "--json")), &result); err != nil ||
		!result.DryRun || result.RegistryCheck["done"] != true || result.Definition.Name != "@acme/reader" || len(result.Advisories) < 2 {
		t.Errorf("%v: %+v", err, result)
	}
	if w.registry.Size() != 0 {
		t.Error("something was published")
	}

	// Without a key, the registry is not asked at all.
	w = newWorld(t, file)
	w.environ = w.environ[1:]
	w.want(0, "The registry was not asked: registry "+strings.TrimPrefix(w.registry.URL, "http://")+": validate: there is no API key for this registry; set PERSTACK_API_KEY, or log in: perstack login",
		"publish", "@acme/lead", "--dry-run")
	w.want(0, "Publish its delegates first, in this order:\n  perstack publish @acme/reader\n  perstack publish @acme/lead", "publish", "@acme/lead", "--dry-run")
	w.want(0, `"done": false`, "publish", "@acme/lead", "--dry-run", "--json")
	if len(w.registry.Paths()) > 0 {
		t.Errorf("requests: %q", w.registry.Paths())
	}
	// Nor without a network.
	w = newWorld(t, file)
	w.registry.Close()
	w.want(0, "The registry was not asked: ", "publish", "@acme/reader", "--dry-run")
	// A key that is refused is a mistake that a dry run shows.
	w = newWorld(t, file)
	w.environ[0] = "PERSTACK_API_KEY=wrong"
	w.want(2, "use a key that can do this: perstack login", "publish", "@acme/reader", "--dry-run")
}

// Without a key nothing is sent, and the user learns how to get one.
func TestNoKey(t *testing.T) {
	for _, args := range [][]string{
		{"publish", "@acme/reader"}, {"unpublish", "@acme/reader@1.0.0", "--force"},
		{"tag", "@acme/reader@1.0.0", "x"}, {"status", "@acme/reader@1.0.0", "disabled"},
	} {
		w := newWorld(t, file)
		w.registry.Publish(registrytest.Minimal("@acme/reader@1.0.0"), "")
		w.environ = w.environ[1:]
		w.want(2, "there is no API key for this registry; set PERSTACK_API_KEY, or log in: perstack login", args...)
		if changes := w.changes(); len(changes) > 0 {
			t.Errorf("%q: %q", args, changes)
		}
	}
}

// On a terminal the user is asked before anything is changed.
func TestAsked(t *testing.T) {
	for _, args := range [][]string{{"publish", "@acme/reader"}, {"unpublish", "@acme/old@1.0.0"}} {
		w := newWorld(t, file)
		w.registry.Publish(registrytest.Minimal("@acme/old@1.0.0"), "")
		before := w.registry.Size()
		var asked []string
		yes := false
		w.answer = func(question string) bool {
			asked = append(asked, question)
			return yes
		}
		w.want(0, "Cancelled\n", args...)
		if len(asked) != 1 || !strings.Contains(asked[0], w.registry.URL) || w.registry.Size() != before || w.registry.PublishedExpert("@acme/old@1.0.0") == nil {
			t.Errorf("%q: asked %q, size %d", args, asked, w.registry.Size())
		}
		yes = true
		w.want(0, "ublished @acme/", args...)
		if len(asked) != 2 {
			t.Errorf("%q: asked %q", args, asked)
		}
	}
	w := newWorld(t, file)
	w.answer = func(string) bool { t.Error("asked"); return false }
	w.want(0, "Published @acme/reader@1.0.0", "publish", "@acme/reader", "--yes")
	w.want(0, "Unpublished @acme/reader@1.0.0", "unpublish", "@acme/reader@1.0.0", "--force")
}

// A registry that only the project names gets no key unless the user allows it. --yes is not enough.
func TestRegistryOfProject(t *testing.T) {
	w := newWorld(t, "[registries.theirs]\nurl = \"https://registry.example.com\"\nscopes = [\"@acme\"]\n"+file)
	w.want(2, "perstack.toml says that @acme is in the registry https://registry.example.com, which you have not allowed", "publish", "@acme/reader", "--yes")
	w.answer = func(string) bool { return false }
	w.want(2, "not allowed; nothing was sent", "publish", "@acme/reader")
}

// A version must be exact where something could be lost.
func TestExactVersion(t *testing.T) {
	w := newWorld(t, file)
	for _, key := range []string{"@acme/reader", "@acme/reader@latest", "@acme/reader@1.0", "reader"} {
		for _, args := range [][]string{{"unpublish", key, "--force"}, {"tag", key, "x"}, {"tag", "add", key, "x"}, {"tag", "rm", key, "x"}, {"status", key, "disabled"}} {
			w.want(2, "names no version; write the exact one, like ", args...)
		}
	}
	w.want(2, "add --force to confirm", "unpublish", "@acme/reader@1.0.0")
	w.want(2, "no version given; name one", "unpublish")
	w.want(2, "no version given; name one", "status")
	w.want(2, "no key given; name a version", "tag")
	w.want(2, "several experts; name one: @acme/lead, @acme/reader", "publish")
	if changes := w.changes(); len(changes) > 0 {
		t.Errorf("%q", changes)
	}
	w.want(2, "@acme/reader is not in the registry", "status", "@acme/reader@1.0.0", "disabled")
}

// Tags are set as a whole or one by one, and latest belongs to the registry.
func TestTags(t *testing.T) {
	w := newWorld(t, file)
	for _, key := range []string{"@acme/a@1.0.0", "@acme/a@2.0.0"} {
		w.registry.Publish(registrytest.Minimal(key), "")
	}
	w.want(0, "Updated @acme/a@1.0.0\n  Tags: lts, stable\n", "tag", "@acme/a@1.0.0", "stable", "lts", "stable")
	w.want(0, "  Tags: lts, next, stable\n", "tag", "add", "@acme/a@1.0.0", "next")
	w.want(0, "  Tags: lts\n", "tag", "@acme/a@1.0.0", "lts")
	w.want(0, "  Tags: lts\n", "tag", "@acme/a@2.0.0", "lts") // it moves
	w.want(2, "@acme/a@1.0.0 does not have the tag lts; it has (none)", "tag", "rm", "@acme/a@1.0.0", "lts")
	w.want(0, "2.0.0  latest, lts\n", "tag", "ls", "@acme/a")
	w.want(0, "latest, lts\n", "tag", "ls", "@acme/a@2.0.0")
	w.want(0, "  Tags: (none)\n", "tag", "rm", "@acme/a@2.0.0", "lts")
	w.want(2, "the tag latest is set by the registry", "tag", "@acme/a@1.0.0", "latest")
	w.want(2, `"1.0" is not a tag`, "tag", "@acme/a@1.0.0", "1.0")
	w.want(2, "no tags given", "tag", "@acme/a@1.0.0")
	w.want(2, "8 tags at most", "tag", "@acme/a@1.0.0", "a", "b", "c", "d", "e", "f", "g", "h", "i")
	w.want(2, "@acme/a has no version 3.0.0; it has 2.0.0, 1.0.0", "tag", "add", "@acme/a@3.0.0", "x")
	var listed struct {
		Tags map[string]string `json:"tags"`
	}
	if err := json.Unmarshal([]byte(w.want(0, "", "tag", "ls", "@acme/a", "--json")), &listed); err != nil || listed.Tags["latest"] != "2.0.0" {
		t.Error(listed, err)
	}
}

// A status changes in one direction only, and says why.
func TestStatus(t *testing.T) {
	w := newWorld(t, file)
	w.registry.Publish(registrytest.Minimal("@acme/a@1.0.0"), "")
	w.want(2, `"old" is no status; it is available, deprecated or disabled`, "status", "@acme/a@1.0.0", "old")
	w.want(2, "no status given; it is available", "status", "@acme/a@1.0.0")
	w.want(2, "--replaced-by: invalid expert key", "status", "@acme/a@1.0.0", "deprecated", "--replaced-by", "@@")
	w.want(0, "Updated @acme/a@1.0.0\n  Status: deprecated\n  Message: Use the new one.\n  Replaced by: @acme/b@2.0.0\n",
		"status", "@acme/a@1.0.0", "deprecated", "--message", "Use the new one.", "--replaced-by", "@acme/b@2.0.0")
	if e := w.registry.PublishedExpert("@acme/a@1.0.0"); e.Status != api.Deprecated || e.StatusMessage == "" || e.ReplacedBy == "" {
		t.Errorf("%+v", e.Version)
	}
	w.want(0, `"status": "disabled"`, "status", "@acme/a@1.0.0", "disabled", "--json")
	w.want(0, `"status": "available"`, "status", "@acme/a@1.0.0", "available", "--json") // the registry decides
}

// Programs get errors with a kind, and the same exit code.
func TestErrorsAsJSON(t *testing.T) {
	w := newWorld(t, file)
	for name, c := range map[string]struct {
		args []string
		kind string
		code int
	}{
		"usage":        {[]string{"unpublish", "@acme/a", "--force", "--json"}, "usage", 2},
		"not found":    {[]string{"unpublish", "@acme/a@1.0.0", "--force", "--json"}, "notFound", 2},
		"several":      {[]string{"publish", "--json"}, "usage", 2},
		"unknown":      {[]string{"publish", "missing", "--json"}, "usage", 2},
		"unauthorized": {[]string{"publish", "@acme/reader", "--json"}, "unauthorized", 2},
	} {
		if name == "unauthorized" {
			w.environ[0] = "PERSTACK_API_KEY=wrong"
		}
		var failed struct{ Error host.Failure }
		stdout, stderr, code := w.run(c.args...)
		if err := json.Unmarshal([]byte(stdout), &failed, json.MatchCaseInsensitiveNames(true)); err != nil || failed.Error.Kind != c.kind || failed.Error.Message == "" || code != c.code || stderr == "" {
			t.Errorf("%s: %v, %+v, exit code %d, %s", name, err, failed, code, stderr)
		}
		w.environ[0] = "PERSTACK_API_KEY=secret-of-acme"
	}
}

// A registry that does not prove the publication is not believed.
func TestUnproved(t *testing.T) {
	w := newWorld(t, file)
	w.registry.Publish(registrytest.Minimal("@acme/old@1.0.0"), "")
	w.want(0, "Published", "publish", "@acme/reader")
	other := w.registry.Rewritten(httptest.NewServer)
	other.Key = w.registry.Key
	w.registry.Handle = func(rw http.ResponseWriter, q *http.Request) bool {
		other.ServeHTTP(rw, q)
		return true
	}
	w.write(filepath.Join(w.dir, "perstack.toml"), strings.Replace(file, `description = "Reads"`, "version = \"2.0.0\"\ndescription = \"Reads\"", 1))
	stdout, _, code := w.run("publish", "@acme/reader", "--json")
	if code != 1 || !strings.Contains(stdout, `"kind": "verificationFailed"`) {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if !slices.Contains(other.Paths(), "POST /api/registry/v2/experts") {
		t.Errorf("%q", other.Paths())
	}
}

// With --json nothing is asked, even if there is a user.
func TestJSONAsksNothing(t *testing.T) {
	w := newWorld(t, file)
	w.answer = func(question string) bool {
		t.Errorf("asked: %s", question)
		return false
	}
	w.want(0, `"logIndex"`, "publish", "@acme/reader", "--json")
	w.want(2, `"kind": "usage"`, "unpublish", "@acme/reader@1.0.0", "--json")
	w.want(2, `"kind": "usage"`, "status", "--json")
}

// A publication is reported, even if this machine cannot record the registry of its scope.
func TestPublishedThoughNotRecorded(t *testing.T) {
	w := newWorld(t, file)
	w.write(filepath.Join(w.home, "state", "perstack", scopes.FileName+".lock", "in-the-way"), "")
	stdout, stderr, code := w.run("publish", "@acme/reader", "--yes")
	if code != 0 || !strings.Contains(stdout, "Published @acme/reader@1.0.0") || !strings.Contains(stderr, "is published, but the registry of its scope was not recorded on this machine") {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	w.want(0, `"warnings": [`, "publish", "@acme/lead", "--json")
}
