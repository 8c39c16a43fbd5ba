package test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/node"
)

// A played is an example, or the demo, as it is run on every provider.
type played struct {
	files    string     // its directory
	commands [][]string // of perstack, without what chooses the provider
	codes    []int      // their ends
	systems  map[string]string
	npm      bool
}

// The commands are those that the examples show their readers. A service knows an
// Expert only by its instruction: systems has a phrase of each.
var everywhere = map[string]played{
	"demo": {
		files: "../internal/cli/demo/files", commands: [][]string{{"run", "reporter", "Write the report of this week."}}, codes: []int{host.ExitOK},
	},
	"organiser": {
		files: "../examples/organiser", commands: [][]string{{"run", "organiser", "Sort my inbox"}}, codes: []int{host.ExitOK},
	},
	"research": {
		files: "../examples/research", commands: [][]string{{"run", "researcher", "When does the ferry go?"}}, codes: []int{host.ExitOK}, npm: true,
	},
	"interviewer": {
		files: "../examples/interviewer", codes: []int{host.ExitWaiting, host.ExitWaiting, host.ExitOK},
		commands: [][]string{
			{"run", "interviewer", "Interview me"},
			{"run", "interviewer", "Grace Ferro", "--continue", "-i"},
			{"run", "interviewer", "Bridges that move", "--continue", "-i"},
		},
	},
	"team": {
		files: "../examples/team", commands: [][]string{{"run", "lead", "Write about tea"}}, codes: []int{host.ExitOK},
		systems: map[string]string{
			"lead": "You are responsible for a short article", "researcher": "from the files in sources/ only", "reviewer": "List claims without a source",
		},
	},
	"survey": {
		files: "../examples/survey", commands: [][]string{{"run", "editor", "What must be fixed?"}}, codes: []int{host.ExitOK},
		systems: map[string]string{
			"editor": "Ask the newcomer, the sceptic", "newcomer": "a reader who is new here would still have to ask",
			"sceptic": "List the claims that are wrong", "proofreader": "List mistakes of spelling",
		},
	},
}

// TestExamplesOnEveryProvider runs the demo and all examples as the real program, with
// prepared answers: first from the cassette, then from the scripted server of each
// provider. All leave the same workspace and say the same.
func TestExamplesOnEveryProvider(t *testing.T) {
	for name, p := range everywhere {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepared, environ := p.prepare(t)
			want := p.run(t, copied(t, prepared), environ, "--provider", "replay", "--cassette", "cassette.toml")
			cassette, err := os.ReadFile(filepath.Join(prepared, "cassette.toml"))
			if err != nil {
				t.Fatal(err)
			}
			if len(want.tree) == 0 || want.said == "" {
				t.Fatal("the cassette leaves nothing")
			}
			for _, s := range modeltest.Subjects() {
				t.Run(s.Name, func(t *testing.T) {
					dir := copied(t, prepared)
					choose(t, dir, s)
					server, root := modeltest.Serve(t, p.script(string(cassette)))
					t.Cleanup(func() {
						for _, r := range server.Requests() {
							if r.Problem != "" {
								t.Errorf("the server refused a request: %s\n%s", r.Problem, r.Raw)
							}
						}
					})
					got := p.run(t, dir, append(environ, variables(t, s, root)...))
					if diff := cmp.Diff(want.tree, got.tree); diff != "" {
						t.Errorf("the workspace (-cassette +%s):\n%s", s.Name, diff)
					}
					if diff := cmp.Diff(want.said, got.said); diff != "" {
						t.Errorf("the answer (-cassette +%s):\n%s", s.Name, diff)
					}
				})
			}
		})
	}
}

// prepare lays an example out, and fetches what it needs from npm.
func (p played) prepare(t *testing.T) (dir string, environ []string) {
	t.Helper()
	dir = copied(t, p.files)
	environ = plainEnviron(t)
	if p.npm {
		cache := t.TempDir()
		environ = append(environ, node.Need(t).Variables(os.Getenv("PATH"))...)
		environ = append(environ, "PERSTACK_CACHE_PATH="+cache)
		if _, stderr, code := runProgram(t, dir, environ, "install"); code != 0 {
			t.Fatalf("perstack install ended with %d: %s", code, stderr)
		}
	}
	return dir, environ
}

// script is a cassette as the scripted server reads it: a service knows an Expert by its
// instruction.
func (p played) script(cassette string) string {
	hurried := regexp.MustCompile(`(?m)^delay = .*\n`).ReplaceAllString(cassette, "")
	return regexp.MustCompile(`(?m)^expert = ".*"$`).ReplaceAllStringFunc(hurried, func(line string) string {
		name := strings.Trim(strings.TrimPrefix(line, "expert = "), `"`)
		return fmt.Sprintf("system = %q", p.systems[name])
	})
}

// left is what a run leaves: files, and its answer.
type left struct {
	tree map[string]string
	said string
}

func (p played) run(t *testing.T, dir string, environ []string, flags ...string) (l left) {
	t.Helper()
	for i, args := range p.commands {
		args = append(append(append([]string{}, args...), "--output", "text"), flags...)
		stdout, stderr, code := runProgram(t, dir, environ, args...)
		if code != p.codes[i] {
			t.Fatalf("perstack %q ended with %d, want %d:\n%s%s", args, code, p.codes[i], stdout, stderr)
		}
		l.said += stdout
	}
	l.tree = tree(t, dir)
	return l
}

// tree is every file of a workspace but the history, which differs by its ids, and what
// chooses the provider.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case name == "perstack":
			return fs.SkipDir
		case name == manifest.FileName:
			return nil
		case entry.IsDir():
			files[name] = "a directory"
			return nil
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// choose writes a provider and its model into perstack.toml, as a reader would.
func choose(t *testing.T, dir string, s *modeltest.Subject) {
	t.Helper()
	path := filepath.Join(dir, manifest.FileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^model = .*\n`).ReplaceAllString(string(data), "")
	text = regexp.MustCompile(`(?m)^cassette = .*\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?m)^\[provider\.setting\]\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?m)^providerName = .*\n`).ReplaceAllString(text, fmt.Sprintf("providerName = %q\n%s", s.Provider, setting(s)))
	if !strings.Contains(text, fmt.Sprintf("providerName = %q", s.Provider)) {
		t.Fatalf("%s names no provider", path)
	}
	put(t, path, fmt.Sprintf("model = %q\n", s.Model)+text)
}

// setting is the table that a subject needs beside its variables.
func setting(s *modeltest.Subject) string {
	if !s.Setting.UseDeploymentBasedURLs {
		return ""
	}
	return fmt.Sprintf("[provider.setting]\nuseDeploymentBasedUrls = true\napiVersion = %q\n", s.Setting.APIVersion)
}

// variables lead the program to the scripted server.
func variables(t *testing.T, s *modeltest.Subject, root string) (environ []string) {
	t.Helper()
	env := s.Variables(t, modeltest.Place{Root: root})
	for _, name := range slices.Sorted(maps.Keys(env)) {
		environ = append(environ, name+"="+env[name])
	}
	return environ
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runProgram runs the real program.
func runProgram(t *testing.T, dir string, environ []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "perstack", args...)
	cmd.Dir, cmd.Env = dir, environ
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
