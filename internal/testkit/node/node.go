// Package node knows where the real MCP servers and clients are that come from npm, and
// how they are run without a network. `make npm` fetches them; test/npm pins them.
//
// A test that starts [Need] with what it needs is skipped on a machine that has not got
// them, and fails in CI.
package node

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit"
)

// The servers, by the names of their packages.
const (
	Everything = "@modelcontextprotocol/server-everything"
	Filesystem = "@modelcontextprotocol/server-filesystem"
	Memory     = "@modelcontextprotocol/server-memory"
	Thinking   = "@modelcontextprotocol/server-sequential-thinking"
	inspector  = "@modelcontextprotocol/inspector"
)

// Components are what make npm installed.
type Components struct {
	tools    string // .tools of the checkout
	registry string // that the cache was filled from
}

// Need returns the components.
func Need(tb testing.TB) Components {
	tb.Helper()
	if testing.Short() {
		tb.Skip("the real programs of npm take seconds to start")
	}
	c, err := find()
	if err != nil {
		testkit.Missing(tb, err.Error()+"; run make npm")
	}
	return c
}

func find() (Components, error) {
	root, err := checkout()
	if err != nil {
		return Components{}, err
	}
	c := Components{tools: filepath.Join(root, ".tools")}
	registry, err := os.ReadFile(filepath.Join(c.tools, "npm", "registry"))
	if err != nil {
		return Components{}, errors.New("the components from npm are not installed")
	}
	c.registry = strings.TrimSpace(string(registry))
	// Those of another commit would make tests pass or fail that should not.
	for _, name := range []string{"package-lock.json", "runtime/package-lock.json"} {
		want, err := os.ReadFile(filepath.Join(root, "test", "npm", name))
		if err != nil {
			return Components{}, err
		}
		got, err := os.ReadFile(filepath.Join(c.tools, "npm", name))
		if err != nil || !bytes.Equal(got, want) {
			return Components{}, fmt.Errorf("the components from npm are not those of test/npm/%s", name)
		}
	}
	if _, err := os.Stat(c.Node()); err != nil {
		return Components{}, fmt.Errorf("npm has no Node 22 for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	return c, nil
}

// checkout finds the top of the checkout; a test starts in the directory of its package.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "test", "npm", "package-lock.json")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("this is not a checkout of perstack")
		}
		dir = above
	}
}

// Node is the path of the Node that the newest components ask for.
func (c Components) Node() string { return filepath.Join(c.nodeDir(), "node") }

func (c Components) nodeDir() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return c.inRuntime("node-" + runtime.GOOS + "-" + arch + "/bin")
}

func (c Components) inRuntime(path string) string {
	return filepath.Join(c.tools, "npm", "runtime", "node_modules", filepath.FromSlash(path))
}

func (c Components) inModules(path string) string {
	return filepath.Join(c.tools, "npm", "node_modules", filepath.FromSlash(path))
}

// Modules is where the packages are, for scripts of tests that use one of them.
func (c Components) Modules() string { return c.inModules("") }

// Script is the program of a server, to be run by Node.
func (c Components) Script(server string) string { return c.inModules(server + "/dist/index.js") }

// Inspector is the program of the MCP Inspector, to be run by Node with --cli.
func (c Components) Inspector() string {
	return c.inModules(inspector + "/clients/launcher/build/index.js")
}

// Registry is the address that the cache was filled from.
func (c Components) Registry() string { return c.registry }

// Version is the version of a server that is installed.
func (c Components) Version(tb testing.TB, server string) string {
	tb.Helper()
	data, err := os.ReadFile(c.inModules(server + "/package.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var manifest struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		tb.Fatal(err)
	}
	return manifest.Version
}

// Variables make programs find this Node and this npm before all others, and npm install
// the servers from the cache alone. path is the PATH that is there already.
func (c Components) Variables(path string) []string {
	return []string{
		"PATH=" + c.nodeDir() + string(filepath.ListSeparator) + c.inRuntime(".bin") + string(filepath.ListSeparator) + path,
		"npm_config_cache=" + filepath.Join(c.tools, "npm-cache"),
		"npm_config_offline=true",
		"npm_config_registry=" + c.registry,
		"npm_config_logs_max=0",
		"npm_config_update_notifier=false",
	}
}

// Beside are the variables for a [Registry] beside the cache: npm can use a network, and
// does so for nothing that the cache has.
func (c Components) Beside(path string) []string {
	var out []string
	for _, v := range c.Variables(path) {
		if v == "npm_config_offline=true" {
			v = "npm_config_prefer_offline=true"
		}
		out = append(out, v)
	}
	return out
}
