package docker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/testkit"
	testdaemon "github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/node"
)

// From a lock to a program in a container, with the real npm and the real Node: no script
// of the package runs, and nothing is fetched a second time.
func TestPackagesOfALockInAnImage(t *testing.T) {
	testkit.Need(t, "npm")
	i := newImagist(t)
	base := testdaemon.NodeImage(t)
	registry := node.NewRegistry(t)
	name := node.Scope + "/hello"
	registry.Publish(t, name, "1.0.0", "cli.js", map[string]node.File{
		"cli.js": {Data: []byte("#!/usr/bin/env node\nconsole.log('hello', __dirname)\nconst fs = require('fs')\ntry { fs.writeFileSync(__dirname + '/x', '') } catch (e) { console.log(e.code) }\n")},
	})
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte(registry.Settings()), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "npm_config_cache=" + filepath.Join(home, "cache")}
	commands := sandbox.NewSupervisor()
	defer commands.Close()
	store := &packages.Store{Dir: filepath.Join(home, "packages"), Commands: commands, Environ: environ}
	locked, err := store.Resolve(t.Context(), expert.Package{Manager: "npx", Name: name, Version: "1.0.0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	config := parsed(t, "[experts.lead]\ninstruction = \"x\"\n[experts.lead.skills.hello]\ntype = \"mcpStdioSkill\"\ncommand = \"npx\"\npackageName = \""+name+"\"\n")
	lead, _ := config.Lookup("lead")
	r := &runner{
		spec:  config.Spec(lead),
		parts: engine.Parts{CacheDir: filepath.Join(home, "packages"), Environ: environ},
		lock:  pinnedTo(t, config, map[string]*lockfile.Package{"lead/hello": locked}),
	}
	r.container().NodeImage = base
	footing, err := r.footing()
	if err != nil {
		t.Fatal(err)
	}
	spec := i.spec(t)
	i.removeStages(t, ImageSpec{Base: base})
	// Without a network, and before anything was fetched.
	r.container().Offline = true
	if _, err := r.image(t.Context(), i.Daemon, spec, footing, i.report); err == nil || !strings.Contains(err.Error(), "[docker] offline") {
		t.Errorf("offline: %v", err)
	}
	r.container().Offline = false
	id, err := r.image(t.Context(), i.Daemon, spec, footing, i.report)
	if err != nil {
		t.Fatal(err)
	}
	testdaemon.RemoveImage(t, i.moby, id)
	if !slices.ContainsFunc(i.events, func(e event.DockerBuildProgress) bool {
		return strings.HasPrefix(e.Message, "adding "+name+"@1.0.0 (1 package, 0.0 MB)")
	}) {
		t.Errorf("events %+v", i.events)
	}
	sealed := &packages.Store{Dir: skillsDir, Sealed: true}
	if _, err := sealed.Install(t.Context(), locked, "", nil); err == nil { // it is in the image, not here
		t.Error("it is installed on this machine")
	}
	pin, err := packages.PinOf(locked)
	if err != nil {
		t.Fatal(err)
	}
	dir := "/skills/npm/" + pin.Digest + "/node_modules/" + name
	out := i.run(t, container.Config{Image: id, User: "0:0", Entrypoint: []string{"node", dir + "/cli.js"}})
	if out != "hello "+dir+"\nEROFS\n" {
		t.Errorf("it says %q", out)
	}
	// Once the image is there, neither npm nor what it installed is needed.
	r.container().Offline, r.parts.CacheDir, r.parts.Environ = true, t.TempDir(), nil
	if again, err := r.image(t.Context(), i.Daemon, spec, footing, i.report); err != nil || again != id {
		t.Errorf("again: %s, %v", again, err)
	}
}
