package test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// The settings that a file can have for each provider. Each of them would show on the
// wire of another: as an address without a server, a header, or a member.
var foreignSettings = map[string]string{
	"anthropic":      "baseUrl = \"https://leak.invalid/v1\"\n",
	"openai":         "baseUrl = \"https://leak.invalid/v1\"\norganization = \"leak-org\"\nproject = \"leak-project\"\n",
	"google":         "baseUrl = \"https://leak.invalid/v1beta\"\n",
	"ollama":         "baseUrl = \"https://leak.invalid/api\"\n",
	"azure-openai":   "baseUrl = \"https://leak.invalid/openai\"\nresourceName = \"leak-resource\"\napiVersion = \"leak-version\"\n",
	"amazon-bedrock": "region = \"leak-region\"\n",
	"google-vertex":  "baseUrl = \"https://leak.invalid/v1\"\nproject = \"leak-project\"\nlocation = \"leak-location\"\n",
	"deepseek":       "baseUrl = \"https://leak.invalid\"\n",

	"openai-compatible": "baseUrl = \"https://leak.invalid/v1\"\n",
}

// TestSettingsStayWithTheirProvider: [provider.setting] belongs to the provider of its
// table. With --provider another one is used, and no such setting is sent to it.
func TestSettingsStayWithTheirProvider(t *testing.T) {
	for _, s := range modeltest.Subjects() {
		if s.Setting.UseDeploymentBasedURLs {
			continue // it needs a setting of its own
		}
		for other, settings := range foreignSettings {
			if other == s.Provider {
				continue
			}
			t.Run(s.Name+" with settings of "+other, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if other != "amazon-bedrock" { // which signs them, and has none of the user
					settings += "headers = { X-Leak = \"leaked\" }\n"
				}
				put(t, filepath.Join(dir, "perstack.toml"), fmt.Sprintf("[provider]\nproviderName = %q\n[provider.setting]\n%s"+
					"[provider.setting.extraBody]\nleak = \"leaked\"\n[experts.writer]\ninstruction = \"Write.\"\n", other, settings))
				server, root := modeltest.Serve(t, "[[turn]]\ntext = \"Written.\"\n")
				stdout, stderr, code := runProgram(t, dir, append(plainEnviron(t), variables(t, s, root)...),
					"run", "writer", "go", "--provider", s.Provider, "--model", s.Model, "--output", "text")
				if code != 0 || !strings.Contains(stdout, "Written.") {
					t.Fatalf("ended with %d: %s%s", code, stdout, stderr)
				}
				for _, r := range server.Requests() {
					if all := fmt.Sprint(r.Header, r.URI, string(r.Raw)); strings.Contains(all, "leak") || !r.KeyRight && s.Provider != "ollama" {
						t.Errorf("that the key is right is %v: %s", r.KeyRight, all)
					}
				}
			})
		}
	}
}

func plainEnviron(t *testing.T) []string {
	t.Helper()
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(), "SystemRoot=" + os.Getenv("SystemRoot")}
}

// The wires, by a subject of each.
var oneOfEachWire = []string{"anthropic", "openai", "google", "azure-openai", "deepseek", "amazon-bedrock", "openai-compatible", "ollama"}

func wireSubjects() (all []*modeltest.Subject) {
	for _, s := range modeltest.Subjects() {
		for _, name := range oneOfEachWire {
			if s.Name == name {
				all = append(all, s)
			}
		}
	}
	return all
}

// TestJobsContinueWithAnotherProvider begins a job with one provider and continues it with
// another, for all pairs of wires. The other is sent what was said and what tools
// returned, and nothing that the first one marked as its own.
func TestJobsContinueWithAnotherProvider(t *testing.T) {
	const withIt = "PERSTACK_STORAGE_PATH=perstack" // so that the history is copied with the project
	const thought, mark = "I had better look first.", "c2lnbmF0dXJlLW9mLXRoZS1maXJzdA"
	script := "[[turn]]\nreasoning = \"" + thought + "\"\nsignature = \"" + mark + "\"\n[[turn.call]]\nid = \"c1\"\ntool = \"readTextFile\"\nargs = { path = \"a.txt\" }\n" +
		"[[turn]]\ntext = \"It says alpha.\"\n[[turn]]\ntext = \"And that is all.\"\n"
	for _, first := range wireSubjects() {
		t.Run(first.Name, func(t *testing.T) {
			t.Parallel()
			begun := t.TempDir()
			put(t, filepath.Join(begun, "perstack.toml"), "[experts.writer]\ninstruction = \"Write.\"\n")
			put(t, filepath.Join(begun, "a.txt"), "alpha\n")
			_, root := modeltest.Serve(t, script)
			stdout, stderr, code := runProgram(t, begun, append(plainEnviron(t), append(variables(t, first, root), withIt)...),
				"run", "writer", "go", "--job-id", "job", "--provider", first.Provider, "--model", first.Model, "--output", "text")
			if code != 0 || !strings.Contains(stdout, "It says alpha.") {
				t.Fatalf("ended with %d: %s%s", code, stdout, stderr)
			}
			for _, second := range wireSubjects() {
				t.Run("then "+second.Name, func(t *testing.T) {
					dir := copied(t, begun)
					server, root := modeltest.Serve(t, script)
					stdout, stderr, code := runProgram(t, dir, append(plainEnviron(t), append(variables(t, second, root), withIt)...),
						"run", "writer", "and now?", "--continue-job", "job", "--workspace", dir, "--move-workspace", "--trust-history", "--provider", second.Provider, "--model", second.Model, "--output", "text")
					if code != 0 || !strings.Contains(stdout, "And that is all.") {
						t.Fatalf("ended with %d: %s%s", code, stdout, stderr)
					}
					for _, r := range server.Requests() {
						body := string(r.Raw)
						for _, text := range []string{"alpha", "It says alpha."} {
							if !strings.Contains(body, text) {
								t.Errorf("%q is not in %s", text, body)
							}
						}
						for _, text := range []string{thought, mark} {
							if first.Name != second.Name && strings.Contains(body, text) {
								t.Errorf("%q of %s is in %s", text, first.Name, body)
							}
						}
					}
				})
			}
		})
	}
}

// TestKeysAreInNoError: a service repeats the key that it was sent. It is in nothing that
// the program says or keeps.
func TestKeysAreInNoError(t *testing.T) {
	for _, s := range modeltest.Subjects() {
		if s.Provider == "ollama" || s.Setting.UseDeploymentBasedURLs {
			continue // which has no key; which differs by its address
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, filepath.Join(dir, "perstack.toml"), "[experts.writer]\ninstruction = \"Write.\"\n")
			server, root := modeltest.Serve(t, "[[turn]]\n[turn.error]\nstatus = 400\nmessage = \"the key "+s.Prefix+llm.Key+" is bad\"\n")
			stdout, stderr, code := runProgram(t, dir, append(plainEnviron(t), variables(t, s, root)...),
				"run", "writer", "go", "--job-id", "job", "--provider", s.Provider, "--model", s.Model, "--verbose")
			if code != 1 || !strings.Contains(stdout+stderr, "is bad") || server.Count() != 1 {
				t.Errorf("ended with %d after %d requests: %s%s", code, server.Count(), stdout, stderr)
			}
			said := map[string]string{"stdout": stdout, "stderr": stderr}
			maps.Copy(said, allFiles(t, dir))
			for name, text := range said {
				if strings.Contains(text, s.Prefix+llm.Key) {
					t.Errorf("%s shows the key: %s", name, text)
				}
			}
		})
	}
}

// allFiles is everything that is below a directory.
func allFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
