package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/testkit/node"
)

// npm makes a fixture in which skills of npm run in sandboxes, without a network.
func npm(t *testing.T, cache string) (*fixture, node.Components) {
	t.Helper()
	components := node.Need(t)
	y := newFixture(t)
	y.withSandboxes(t)
	y.Parts.Environ = append(os.Environ(), components.Variables(os.Getenv("PATH"))...)
	y.Parts.Environ = append(y.Parts.Environ, "HOME="+t.TempDir(), "XDG_CACHE_HOME=")
	y.Packages = &packages.Store{Dir: cache, Commands: y.Commands, Environ: y.Parts.Environ}
	return y, components
}

// of is the entry of a skill that a package of npm serves.
func of(t *testing.T, c node.Components, name, pkg, more string, args ...string) string {
	t.Helper()
	return server("npx", name, "toolPrefix = true\n"+more, append([]string{pkg + "@" + c.Version(t, pkg)}, args...)...)
}

// Real servers do their work in sandboxes, and see nothing of each other.
func TestNodeServersInSandboxes(t *testing.T) {
	y, c := npm(t, t.TempDir())
	y.env(func(name string) string { return filepath.Join(y.dir, "memory.json") })
	box := y.open(t, load(t, head+of(t, c, "everything", node.Everything, "workspace = 'none'\n")+
		of(t, c, "files", node.Filesystem, "", y.dir)+
		of(t, c, "memory", node.Memory, "requiredEnv = ['MEMORY_FILE_PATH']\n")))
	for _, tt := range []struct{ tool, args, want string }{
		{"everything__echo", `{"message":"it is me"}`, "it is me"},
		{"everything__get-sum", `{"a":40,"b":2}`, "42"},
		{"everything__get-env", `{}`, `"HOME": "` + y.Sandboxes.Home + "/sandbox-"},
		{"everything__get-env", `{}`, `"NODE_USE_ENV_PROXY": "1"`},
		{"files__write_file", `{"path":"` + y.dir + `/made.txt","content":"by a server"}`, "Successfully"},
		{"files__read_text_file", `{"path":"` + y.dir + `/made.txt"}`, "by a server"},
		{"memory__create_entities", `{"entities":[{"name":"n","entityType":"t","observations":["remembered"]}]}`, "remembered"},
		{"memory__read_graph", `{}`, "remembered"},
	} {
		if r := call(t, box, tt.tool, tt.args); r.IsError || !strings.Contains(event.FirstText(r.Result), tt.want) {
			t.Errorf("%s %s: %+v", tt.tool, tt.args, r)
		}
	}
	if data, err := os.ReadFile(filepath.Join(y.dir, "memory.json")); err != nil || !strings.Contains(string(data), "remembered") {
		t.Errorf("%q, %v", data, err)
	}
	if text := event.FirstText(call(t, box, "everything__get-env", `{}`).Result); strings.Contains(text, "MEMORY_FILE_PATH") {
		t.Errorf("a server sees the variable of another: %s", text)
	}
}

// What the filesystem server may do is what its sandbox lets it, whatever it is told to serve:
// the workspace by its right, and neither the packages nor the home of the user.
func TestNodeFilesystemRights(t *testing.T) {
	cache := t.TempDir()
	for right, can := range map[string]struct{ read, write bool }{"readWrite": {true, true}, "readOnly": {true, false}, "none": {false, false}} {
		t.Run(right, func(t *testing.T) {
			y, c := npm(t, cache)
			outside := t.TempDir()
			for _, path := range []string{filepath.Join(y.dir, "file.txt"), filepath.Join(outside, "file.txt")} {
				if err := os.WriteFile(path, []byte("CANARY"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			box := y.open(t, load(t, head+of(t, c, "files", node.Filesystem, "workspace = '"+right+"'\n", y.dir, outside, y.Packages.Dir)))
			for _, tt := range []struct {
				tool, args string
				want       bool
			}{
				{"files__read_text_file", fmt.Sprintf(`{"path":"%s/file.txt"}`, y.dir), can.read},
				{"files__list_directory", fmt.Sprintf(`{"path":"%s"}`, y.dir), can.read},
				{"files__write_file", fmt.Sprintf(`{"path":"%s/new.txt","content":"x"}`, y.dir), can.write},
				{"files__edit_file", fmt.Sprintf(`{"path":"%s/file.txt","edits":[{"oldText":"CANARY","newText":"planted"}]}`, y.dir), can.write},
				{"files__read_text_file", fmt.Sprintf(`{"path":"%s/file.txt"}`, outside), false},
				{"files__write_file", fmt.Sprintf(`{"path":"%s/new.txt","content":"x"}`, outside), false},
				{"files__list_directory", fmt.Sprintf(`{"path":"%s"}`, y.Packages.Dir), false},
				{"files__list_directory", fmt.Sprintf(`{"path":"%s/npm"}`, y.Packages.Dir), false},
				{"files__write_file", fmt.Sprintf(`{"path":"%s/npm/new.txt","content":"x"}`, y.Packages.Dir), false},
			} {
				if r := call(t, box, tt.tool, tt.args); r.IsError == tt.want {
					t.Errorf("%s %s: %+v", tt.tool, tt.args, r)
				}
			}
		})
	}
}
