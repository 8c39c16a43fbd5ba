//go:build linux

package docker

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/node"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// A published Expert runs in a container, with a published delegate that has a package: the hosts that it can
// reach and the variables that it gets are those of the definitions that were resolved, not of perstack.toml.
// Packages need a lockfile, and the user is told so.
func TestPublishedInContainer(t *testing.T) {
	t.Parallel()
	need(t)
	components := node.Need(t)
	image := daemon.NodeImage(t, daemon.Name(t))
	daemon.RemoveAbove(t, daemon.Need(t), image)
	host := "published-" + strings.ToLower(rand.Text()[:8]) + ".open.test"
	registry := realregistry.Start(t, realregistry.Options{})
	publishTeam(t, registry, host, node.Everything+"@"+components.Version(t, node.Everything))

	p := newProject(t, fmt.Sprintf("nodeImage = %q\n", image), map[string]string{
		"perstack.toml": "[experts.host]\ninstruction = \"You are the host.\"\ndelegates = [\"@acme/lead\"]\n",
		"go-on":         "", // what is held ends at once
	})
	home := t.TempDir()
	p.env = append(p.env, components.Variables(os.Getenv("PATH"))...)
	p.env = append(p.env, "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"),
		"PERSTACK_CACHE_PATH="+filepath.Join(home, "cache"), "ARCHIVE_TOKEN=t0ken", "OTHER_TOKEN=other")
	config := filepath.Join(home, "config", "perstack")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte("[registries.acme]\nurl = '"+registry.URL+"'\nscopes = ['@acme']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &skillsProject{project: p}
	s.on("the host", "begin", ask(t, "delegated", "lead", object{"query": "lead it"}))
	s.on("the lead", "lead it", askExec(t, "reached", "./probed", "hold", host, "held", "go-on"))
	s.on("the lead", "the command succeeded", ask(t, "asked", "archive", object{"query": "show it"}))
	s.on("the archive", "show it", ask(t, "variables", "get-env", object{}))
	s.say("the archive", "ARCHIVE_TOKEN", "Shown.")
	s.say("the lead", "Shown.", "Led.")
	s.say("the host", "Led.", "Done.")
	p.serve(s.script.String())

	if o := p.run("@acme/lead", "lead it", "--yes"); o.code != 2 || !strings.Contains(o.stderr, "is not pinned, and runtime docker puts only pinned ones into an image; run: perstack install --runtime docker") || ranInContainer(o.events) {
		t.Errorf("without a lockfile: exit code %d, %s", o.code, o.stderr)
	}
	p.perstack("install", "--runtime", "docker", "--yes").must(t, 0)
	registry.Close() // everything is pinned
	o := p.run("host", "begin", "--job-id", p.job(), "--yes").must(t, 0)
	if !ranInContainer(o.events) || !strings.Contains(o.stdout, `"@acme/archive@1.0.0"`) {
		t.Errorf("it did not run in a container: %s", tail(o.stdout, 2000))
	}
	if !strings.Contains(o.stdout, fmt.Sprintf(`"action":"allowed","domain":%q`, host)) {
		t.Errorf("the host of the published Expert was not reached: %s", encode(t, o.results()["reached"].Result))
	}
	if o := p.run("@acme/lead", "lead it", "--job-id", p.job(), "--yes").must(t, 0); !ranInContainer(o.events) || o.results()["variables"].IsError {
		t.Errorf("by its own name: %s", o.stderr)
	}
	variables := string(encode(t, o.results()["variables"].Result))
	if !strings.Contains(variables, "ARCHIVE_TOKEN") || strings.Contains(variables, "OTHER_TOKEN") || strings.Contains(variables, "ANTHROPIC_API_KEY") {
		t.Errorf("the skill has the variables %s", variables)
	}
}

// publishTeam publishes an Expert that can reach a host, and its delegate, which has a package and a variable.
func publishTeam(t *testing.T, registry *realregistry.Registry, host, spec string) {
	t.Helper()
	publisher, err := client.New(client.Options{
		BaseURL: registry.URL, Insecure: true, Key: registry.Key("acme", "team"), HTTP: &http.Client{}, Trust: trust.Open(t.TempDir()), Clock: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	archive := registrytest.Minimal("@acme/archive@1.0.0")
	archive.Instruction = "You are the archive."
	archive.Skills["everything"] = definition.Skill{Type: expert.StdioSkill, Command: "npx", PackageName: spec, RequiredEnv: []string{"ARCHIVE_TOKEN"}}
	lead := registrytest.Minimal("@acme/lead@1.0.0", "@acme/archive")
	lead.Instruction = "You are the lead."
	lead.Extensions.Skills = map[string]definition.SkillExtensions{expert.BaseSkill: {AllowedDomains: []string{host}}}
	for _, d := range []*definition.Definition{archive, lead} {
		if _, err := publisher.Publish(t.Context(), api.Publish{Content: d.Encode()}); err != nil {
			t.Fatal(err)
		}
	}
}
