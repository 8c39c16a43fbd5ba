//go:build unix

package base_test

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/rawjson"
)

// A way is an argument by which a tool takes a path, with the other arguments.
type way struct {
	tool, argument string
	rest           object
}

func (w way) String() string { return w.tool + "." + w.argument }

// ways are all of them.
func ways() []way {
	return []way{
		{"exec", "cwd", object{"command": "pwd"}},
		{"getFileInfo", "path", nil},
		{"readTextFile", "path", nil},
		{"readImageFile", "path", nil},
		{"readPdfFile", "path", nil},
		{"writeTextFile", "path", object{"text": "planted"}},
		{"appendTextFile", "path", object{"text": "planted"}},
		{"editTextFile", "path", object{"oldText": canary, "newText": "planted"}},
		{"moveFile", "source", object{"destination": "moved"}},
		{"moveFile", "destination", object{"source": "a.txt"}},
		{"deleteFile", "path", nil},
		{"listDirectory", "path", nil},
		{"glob", "path", object{"pattern": "*"}},
		{"grep", "path", object{"pattern": "."}},
		{"createDirectory", "path", nil},
		{"deleteDirectory", "path", object{"recursive": true}},
	}
}

// No tool takes a path that the attacks below do not try.
func TestAllWaysAreTried(t *testing.T) {
	var tried, there []string
	for _, w := range ways() {
		tried = append(tried, w.String())
	}
	tools, err := newBench(t).Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		var schema struct {
			Properties map[string]rawjson.Value `json:"properties"`
		}
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		for name := range schema.Properties {
			if slices.Contains([]string{"path", "source", "destination", "cwd"}, name) {
				there = append(there, tool.Name+"."+name)
			}
		}
	}
	slices.Sort(tried)
	slices.Sort(there)
	if !slices.Equal(tried, there) {
		t.Errorf("tried %v\nthere are %v", tried, there)
	}
}

// hostileBench is a workspace that somebody prepared.
func hostileBench(t testing.TB) *bench {
	b := newBench(t)
	b.put("../outside/x.png", pngFile+canary)
	b.put("sub/.env.local", canary)
	b.put("sub/deep/file.txt", canary[:3])
	b.link("../outside/secret.txt", "leak.txt")
	b.link("../outside/x.png", "leak.png")
	b.link("../outside", "out")
	b.link("../outside/none", "nowhere")
	b.link(b.outside, "abs")
	b.link(filepath.Join(b.outside, "secret.txt"), "abs.txt")
	b.link("/proc/self/root", "rootdir")
	b.link("..", "up")
	b.link("sub/../../outside", "sneaky")
	b.link("chain2", "chain")
	b.link("out", "chain2")
	b.link("loop", "loop")
	b.link("perstack", "p")
	b.link("perstack/jobs", "j")
	b.link("../perstack", "sub/p")
	b.link(".env", "e")
	for name, twin := range map[string]string{"hard": ".env", "hardsub": "sub/.env.local", "hardlog": "perstack/jobs/j1/journal.jsonl"} {
		if err := os.Link(filepath.Join(b.dir, twin), filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	return b
}

// The rows of the two attack tables of the base skill's specification that are about
// paths. Each spelling is tried with every tool that takes a path. A refused call
// changes nothing, and no call shows or changes anything that is outside or protected.
func TestAttacksOnPaths(t *testing.T) {
	const (
		outside   = "outside_workspace"
		protected = "protected"
		invalid   = "invalid_path"
		noDir     = "not_a_directory"
		done      = "" // the call succeeds
	)
	// What these do with a link concerns the link, which lies in the workspace.
	onLink := map[string]string{"moveFile.source": done, "deleteFile.path": done, "deleteDirectory.path": noDir,
		"createDirectory.path": "already_exists", "moveFile.destination": "already_exists"}
	// Another name of a protected file shows nothing of it and lends no way to change it.
	// Its own entry in its directory is an ordinary one.
	onTwin := map[string]string{"getFileInfo.path": done, "writeTextFile.path": done, "moveFile.source": done, "deleteFile.path": done,
		"moveFile.destination": "already_exists", "createDirectory.path": "already_exists",
		"exec.cwd": noDir, "listDirectory.path": noDir, "glob.path": noDir, "deleteDirectory.path": noDir}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(onLink)
		maps.Copy(all, more)
		return all
	}
	tests := []struct {
		row, path, code string
		but             map[string]string // tool and argument: code
	}{
		{"B1", "/etc/passwd", outside, nil},
		{"B1", "OUTSIDE/secret.txt", outside, nil},
		{"B2", "../../../etc/passwd", outside, nil},
		{"B2", "../outside/secret.txt", outside, nil},
		{"B2", "sub/../../outside/secret.txt", outside, nil},
		{"B2", "WORKSPACE/../outside/secret.txt", outside, nil},
		{"B2", "..", outside, nil},
		{"B3", "/../../../etc/passwd", outside, nil},
		{"B4", "../wsfoo/secret.txt", outside, nil},
		{"B4", "WORKSPACEfoo/secret.txt", outside, nil},
		{"B5", "perstack", protected, nil},
		{"B5", "PERSTACK", protected, nil},
		{"B5", "Perstack", protected, nil},
		{"B5", "ｐｅｒｓｔａｃｋ", protected, nil},
		{"B5", "perſtack", protected, nil},
		{"B5", "per\u200bstack", protected, nil},
		{"B5", "perstack.", protected, nil},
		{"B5", "perstack ", protected, nil},
		{"B5", "perstack/", protected, nil},
		{"B5", "WORKSPACE//./perstack", protected, nil},
		{"B6", "perstack/jobs", protected, nil},
		{"B6", "PERSTACK/JOBS", protected, nil},
		{"B6", "perstack/jobs/j1/journal.jsonl", protected, nil},
		{"B6", "ＰＥＲＳＴＡＣＫ/new", protected, nil},
		{"B6", "sub/../perstack/new", protected, nil},
		{"B7", "leak.txt", outside, onLink},
		{"B7", "abs.txt", outside, onLink},
		{"B7", "nowhere", outside, onLink},
		{"B8", "out/secret.txt", outside, nil},
		{"B8", "abs/secret.txt", outside, nil},
		{"B8", "sneaky/secret.txt", outside, nil},
		{"B8", "chain/secret.txt", outside, nil},
		{"B8", "up/outside/secret.txt", outside, nil},
		{"B8", "out/new/file.txt", outside, nil},
		{"B9", "up/wsfoo/secret.txt", outside, nil},
		{"B11", "~/x", outside, nil},
		{"B11", "~", outside, nil},
		{"N1", "leak.png", outside, onLink},
		{"N1", "out/x.png", outside, nil},
		{"N2", "out", outside, onLink},
		{"N2", "sneaky", outside, onLink},
		{"N2", "chain", outside, onLink},
		{"N2", "up", outside, onLink},
		{"N3", "abs", outside, onLink},
		{"N3", "out/", outside, with(map[string]string{"moveFile.source": noDir, "deleteFile.path": noDir})},
		{"N3", "out/.", outside, with(map[string]string{"moveFile.source": noDir, "deleteFile.path": noDir})},
		{"N4", "p/jobs/j1/journal.jsonl", protected, nil},
		{"N4", "p", protected, onLink},
		{"N4", "j", protected, onLink},
		{"N4", "j/j1/journal.jsonl", protected, nil},
		{"N4", "sub/p/jobs", protected, nil},
		{"N4", "sub/p/new", protected, nil},
		{"N5", "/proc/self/cwd/perstack/jobs/j1/journal.jsonl", outside, nil},
		{"N5", "/proc/self/root/etc/passwd", outside, nil},
		{"N5", "rootdir/etc/passwd", outside, nil},
		{"N9", ".env", protected, nil},
		{"N9", ".ENV", protected, nil},
		{"N9", ".ｅｎｖ", protected, nil},
		{"N9", "．env", protected, nil},
		{"N9", ".e\u200dnv", protected, nil},
		{"N9", ".env.", protected, nil},
		{"N9", ".env ", protected, nil},
		{"N9", ".env.production", protected, nil},
		{"N9", "sub/.env.local", protected, nil},
		{"N9", "new/.env", protected, nil},
		{"N9", ".env/x", protected, nil},
		{"N9", "e", protected, onLink},
		{"N9", "hard", protected, nil},
		{"N9", "hardsub", protected, onTwin},
		{"N9", "hardlog", protected, onTwin},
		{"N10", "pipe", "not_regular", with(map[string]string{"getFileInfo.path": done, "exec.cwd": noDir, "listDirectory.path": noDir, "glob.path": noDir})},
		{"N15", "a.txt\x00", invalid, nil},
		{"N15", "\x00", invalid, nil},
		{"N15", "a.txt/b", noDir, nil},
		{"N15", "a.txt/", noDir, map[string]string{"moveFile.destination": "already_exists", "createDirectory.path": "already_exists"}},
		{"N15", "a.txt/..", noDir, nil},
		{"N15", "loop", invalid, onLink},
		{"N15", "loop/x", invalid, nil},
		{"N15", strings.Repeat("x/", 3000), invalid, nil},
		{"N15", strings.Repeat("sub/../", 580) + "a.txt", invalid, nil},
	}
	var b *bench
	var before map[string]string
	for _, tt := range tests {
		for _, w := range ways() {
			if b == nil {
				b = hostileBench(t)
				before = b.tree()
			}
			path := strings.NewReplacer("OUTSIDE", b.outside, "WORKSPACE", b.dir).Replace(tt.path)
			args := object{w.argument: path}
			maps.Copy(args, w.rest)
			code, other := tt.but[w.String()]
			if !other {
				code = tt.code
			}
			t.Run(tt.row+"/"+w.String(), func(t *testing.T) {
				b := &bench{Skill: b.Skill, t: t, dir: b.dir, outside: b.outside}
				text, r := b.call(w.tool, args)
				got := fields(t, text)
				if code != done && (!r.IsError || got["code"] != code) || code == done && r.IsError {
					t.Errorf("%s %.60q: %s; want code %q", w, path, text, code)
				}
				b.checkSecrets(path, r)
				if r.IsError {
					b.unchanged(before)
				} else {
					b.safe(before)
				}
			})
			if code == done || t.Failed() {
				b = nil // the next call finds it as it was
			}
		}
	}
	attack.Held(t, "F1", len(tests)*len(ways()))
}

// safe checks that everything is as before that is outside or protected.
func (b *bench) safe(before map[string]string) {
	b.t.Helper()
	guarded := func(name string) bool {
		return name != "ws" && !strings.HasPrefix(name, "ws/") || strings.HasPrefix(name, "ws/perstack") || strings.Contains(name, ".env")
	}
	after := b.tree()
	for name, was := range before {
		if guarded(name) && after[name] != was {
			b.t.Errorf("%s was %q and is %q", name, was, after[name])
		}
	}
	for name, is := range after {
		if guarded(name) && before[name] == "" {
			b.t.Errorf("%s is new: %q", name, is)
		}
	}
}

// checkSecrets fails if a result gives away what is outside or protected. A call may
// have named the file outside itself.
func (b *bench) checkSecrets(given string, r event.ToolResult) {
	b.t.Helper()
	for _, part := range r.Result {
		shown := strings.ReplaceAll(part.Text, given, "")
		if data, err := base64.StdEncoding.DecodeString(part.EncodedData); err != nil || part.EncodedData != "" {
			shown += string(data)
		}
		for _, secret := range []string{canary, "root:", b.outside} {
			if strings.Contains(shown, secret) {
				b.t.Errorf("%s %q gives away %q: %.200s", r.ToolName, given, secret, shown)
			}
		}
	}
}
