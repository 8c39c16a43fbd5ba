package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A block is a part of a page between lines of backquotes.
type block struct {
	language, text string
	line           int // of its first line
}

func blocks(page string) (all []block) {
	open := false
	for i, line := range strings.Split(page, "\n") {
		language, delimiter := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case delimiter && !open:
			all = append(all, block{language: language, line: i + 1})
		case !delimiter && open:
			all[len(all)-1].text += line + "\n"
		}
		open = open != delimiter
	}
	return all
}

// Everything that a user is invited to copy is a file without a problem.
func TestDocumentedSnippetsAreValid(t *testing.T) {
	for page, atLeast := range map[string]int{"docs/perstack-toml.md": 12, "docs/docker.md": 1, "docs/delegation.md": 1, "README.md": 2} {
		count := 0
		for _, b := range blocks(readPage(t, page)) {
			if b.language != "toml" {
				continue
			}
			count++
			text := strings.Repeat("\n", b.line) + b.text // so that positions are those of the page
			if strings.Contains(text, "[[turn]]") {
				if _, err := replay.Parse(page, []byte(text)); err != nil {
					t.Error(err)
				}
				continue
			}
			c, ps := manifest.Parse(page, []byte(text))
			if len(ps) > 0 {
				t.Errorf("%v", ps.Error())
			} else if ps := c.DelegateWarnings(); len(ps) > 0 {
				t.Errorf("%v", ps.Error())
			}
		}
		if count < atLeast {
			t.Errorf("%s has %d TOML blocks", page, count)
		}
	}
}

// The first steps in the README are those that a script runs.
func TestReadmeScript(t *testing.T) {
	_, section, _ := strings.Cut(readPage(t, "README.md"), "\n## Your first Expert\n")
	section, _, found := strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("the README has no section \"Your first Expert\"")
	}
	names := regexp.MustCompile("(?m)`([a-z]+\\.toml)`, .*:$").FindAllStringSubmatch(section, -1)
	comment := regexp.MustCompile(` +#.*$`)
	note := regexp.MustCompile(`^echo "([^"$]*)" > (\S+)$`)
	files, commands := map[string]string{}, []string{}
	for _, b := range blocks(section) {
		switch b.language {
		case "toml":
			if len(names) == 0 {
				t.Fatal("a TOML block does not say which file it is")
			}
			files[names[0][1]], names = b.text, names[1:]
		case "sh":
			for line := range strings.Lines(b.text) {
				line = comment.ReplaceAllString(strings.TrimSpace(line), "")
				if m := note.FindStringSubmatch(line); m != nil {
					files[m[2]] = m[1] + "\n"
				} else {
					commands = append(commands, strings.ReplaceAll(line, `"`, `'`))
				}
			}
		}
	}

	script := txtar.Parse([]byte(readPage(t, "test/testdata/script/readme_first_expert.txtar")))
	scriptFiles, scriptCommands := map[string]string{}, []string{}
	for _, f := range script.Files {
		scriptFiles[f.Name] = string(f.Data)
	}
	for line := range strings.Lines(string(script.Comment)) {
		if strings.HasPrefix(line, "perstack ") {
			scriptCommands = append(scriptCommands, strings.TrimSpace(line))
		}
	}
	if d := cmp.Diff(scriptFiles, files); d != "" {
		t.Errorf("files (-script +README)\n%s", d)
	}
	if d := cmp.Diff(scriptCommands, commands); d != "" {
		t.Errorf("commands (-script +README)\n%s", d)
	}
}

func offered(t *testing.T) []skill.Tool {
	t.Helper()
	tools, err := base.New(base.Options{}).Tools(t.Context())
	if err != nil || len(tools) == 0 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	return tools
}

// The list of names that a file may pick is the list of tools there are.
func TestBaseToolsAreKnown(t *testing.T) {
	var names []string
	for _, tool := range offered(t) {
		names = append(names, tool.Name)
	}
	if d := cmp.Diff(names, prompt.Names()); d != "" {
		t.Errorf("tools (-offered +known)\n%s", d)
	}
	for _, name := range names {
		text := fmt.Sprintf("[experts.a]\ninstruction = 'x'\n[experts.a.skills.'@perstack/base']\ntype = 'mcpStdioSkill'\npick = ['%s']", name)
		if _, problems := manifest.Parse("p.toml", []byte(text)); len(problems) > 0 {
			t.Errorf("picking %s: %v", name, problems)
		}
	}
}

// The page has a section and a row of its first table for each tool, and in the section
// a row for each argument.
func TestBaseToolsPage(t *testing.T) {
	page := readPage(t, "docs/base-tools.md")
	for _, tool := range offered(t) {
		_, section, found := strings.Cut(page, "\n### `"+tool.Name+"`\n")
		if !found {
			t.Errorf("%s has no section", tool.Name)
			continue
		}
		if !strings.Contains(page, fmt.Sprintf("\n| [`%s`](#%s) |", tool.Name, strings.ToLower(tool.Name))) {
			t.Errorf("%s is not in the table", tool.Name)
		}
		if end := regexp.MustCompile(`\n##`).FindStringIndex(section); end != nil {
			section = section[:end[0]]
		}
		var schema struct {
			Properties map[string]rawjson.Value `json:"properties"`
		}
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		var described []string
		_, arguments, _ := strings.Cut(section, "\n| argument |")
		arguments, _, _ = strings.Cut(arguments, "\n\n")
		for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(arguments, -1) {
			described = append(described, m[1])
		}
		for name := range schema.Properties {
			if !slices.Contains(described, name) {
				t.Errorf("%s: the argument %s is not described", tool.Name, name)
			}
		}
		for _, name := range described {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("%s has no argument %s", tool.Name, name)
			}
		}
	}
}

// The page about delegation and the reference name the defaults and bounds that hold.
func TestDelegationPage(t *testing.T) {
	page, reference := readPage(t, "docs/delegation.md"), readPage(t, "docs/perstack-toml.md")
	for _, want := range []string{
		fmt.Sprintf("`maxParallel` (%d)", expert.DefaultMaxParallel),
		fmt.Sprintf("`maxDepth` (%d)", expert.DefaultMaxDepth),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	for _, want := range []string{
		fmt.Sprintf("| `maxTokens` | %d |", int64(expert.MostTokens)),
		fmt.Sprintf("| `maxCost` | %d |", expert.MostCost),
		fmt.Sprintf("| `maxDuration` | `\"%.0fh\"` |", expert.MostDuration.Hours()),
		fmt.Sprintf("| `maxDepth` | %d |", expert.MostDepth),
		fmt.Sprintf("| `maxParallel` | %d |", expert.MostParallel),
	} {
		if !strings.Contains(reference, want) {
			t.Errorf("the reference does not say %s", want)
		}
	}
}

// The page about the runtime docker has the numbers that hold, and a row for every reason.
func TestDockerPage(t *testing.T) {
	page, d := readPage(t, "docs/docker.md"), job.DefaultContainer()
	for _, want := range []string{
		fmt.Sprintf("| `memory` | `%s` |", manifest.FormatBytes(d.Memory)),
		fmt.Sprintf("| `memoryReservation` | `%s` |", manifest.FormatBytes(d.MemoryReservation)),
		fmt.Sprintf("| `cpus` | %v |", d.CPUs),
		fmt.Sprintf("| `pids` | %d |", d.PIDs),
		fmt.Sprintf("| `tmpSize` | `%s` |", manifest.FormatBytes(d.TmpSize)),
		fmt.Sprintf("| `cacheSize` | `%s` |", manifest.FormatBytes(d.CacheSize)),
		fmt.Sprintf("| `maxJournalBytes` | `%s` |", manifest.FormatBytes(d.MaxJournalBytes)),
		fmt.Sprintf("| `buildTimeout` | `%.0fm` |", d.BuildTimeout.Minutes()),
		fmt.Sprintf("| `startTimeout` | `%.0fm` |", d.StartTimeout.Minutes()),
		fmt.Sprintf("| `idleTimeout` | `%.0fm` |", d.IdleTimeout.Minutes()),
		fmt.Sprintf("| `totalTimeout` | `%.0fh` |", d.TotalTimeout.Hours()),
		fmt.Sprintf("carries %d connections", egress.DefaultMaxConnections),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	for _, reason := range egress.Reasons() {
		if !strings.Contains(page, "\n| `"+reason+"` |") {
			t.Errorf("the page has no row for the reason %s", reason)
		}
	}
}
