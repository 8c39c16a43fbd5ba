package run

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// What keeps skills from starting is reported before anything starts, for the Expert and
// for those that it can delegate to.
func TestCheckSkills(t *testing.T) {
	const text = `[experts.lead]
instruction = "Lead."
delegates = ["worker"]
[experts.worker]
instruction = "Work."
[experts.worker.skills.search]
type = "mcpStdioSkill"
command = "search"
requiredEnv = ["SEARCH_KEY", "OPENAI_API_KEY"]
[experts.alone]
instruction = "Work."
`
	tests := []struct {
		expert, provider, environ, lock string
		want                            []string // in the error; none means that there is none
	}{
		{expert: "alone"},
		{expert: "lead", want: []string{`skill "search"`, "SEARCH_KEY is not set", "OPENAI_API_KEY is not set"}},
		{expert: "worker", environ: "SEARCH_KEY=a,OPENAI_API_KEY=b"},
		{expert: "lead", environ: "SEARCH_KEY=a,OPENAI_API_KEY=b", provider: "openai", want: []string{`skill "search"`, "OPENAI_API_KEY", "provider openai"}},
		{expert: "alone", lock: "version = 9\n", want: []string{"perstack.lock", "perstack install"}},
		{expert: "alone", lock: "version = \"1\"\ngeneratedAt = 1\nconfigPath = \"perstack.toml\"\n"},
		{expert: "worker", environ: "SEARCH_KEY=a,OPENAI_API_KEY=b", lock: "version = \"1\"\ngeneratedAt = 1\nconfigPath = \"perstack.toml\"\n",
			want: []string{"perstack.lock", "worker", "perstack install"}},
	}
	for _, tt := range tests {
		p := proposal{files: toml(text), expert: tt.expert, opts: &Options{}, environ: strings.Split(tt.environ, ",")}
		if tt.lock != "" {
			p.files["perstack.lock"] = tt.lock
		}
		p.opts.Flags.Provider = tt.provider
		pl, _, err := makePlan(t, p)
		if len(tt.want) == 0 {
			if err != nil || (pl.spec.Lock != "") != (tt.lock != "") {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		for _, want := range tt.want {
			wantUsage(t, err, want)
		}
	}
}

// A file of another name has a lockfile of its own: that of the other file is not read,
// advice names the file, and no tool may change any of them.
func TestOtherConfig(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("perstack.toml", "envPath = ['keys.txt']\n")
	write("perstack.lock", "broken")
	write("b.toml", "[experts.a]\ninstruction = 'x'\n")
	o := &Options{Host: &host.Host{Dir: dir, Home: t.TempDir(), Stderr: io.Discard}, Config: "b.toml"}
	p, err := loadProject(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := makeSpec(t.Context(), o, p, &target{expertKey: "a"})
	if err != nil || pl.spec.Lock != "" {
		t.Fatalf("without a lockfile of its own: %+v, %v", pl, err)
	}
	for _, name := range []string{"b.toml", "b.lock", "perstack.toml", "perstack.lock"} {
		if !slices.Contains(pl.spec.Workspace.ReadOnly, at(name)) {
			t.Errorf("%s is not protected: %q", name, pl.spec.Workspace.ReadOnly)
		}
	}
	if !slices.Contains(pl.spec.Workspace.Hidden, at("keys.txt")) {
		t.Errorf("the env files of the project are not kept from tools: %q", pl.spec.Workspace.Hidden)
	}
	for lock, want := range map[string]string{
		"broken": "; run: perstack install --config b.toml",
		"version = \"1\"\ngeneratedAt = 1\nconfigPath = \"perstack.toml\"\n": `b.lock: was made from "perstack.toml", not from "b.toml"; run: perstack install --config b.toml`,
		"version = \"2\"\n": "; update perstack",
	} {
		write("b.lock", lock)
		if p, err = loadProject(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if _, err := makeSpec(t.Context(), o, p, &target{expertKey: "a"}); err == nil || !strings.HasSuffix(err.Error(), want) || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%q: error %v, want %q", lock, err, want)
		}
	}
}

// Who serves the base tools, and who is handed keys, is told for all that can be reached.
func TestTellAll(t *testing.T) {
	const text = `[experts.lead]
instruction = "Lead."
delegates = ["one", "two"]
[experts.one]
instruction = "Work."
[experts.one.skills."@perstack/base"]
type = "mcpHttpSkill"
endpoint = "https://base.example/KEY"
[experts.two]
instruction = "Work."
[experts.two.skills."@perstack/base"]
type = "mcpHttpSkill"
endpoint = "https://base.example/OTHER"
[experts.two.skills.far]
type = "mcpHttpSkill"
endpoint = "https://far.example/KEY"
requiredEnv = ["OPENAI_API_KEY"]
`
	_, got, err := makePlan(t, proposal{files: toml(text), environ: []string{"OPENAI_API_KEY=k"}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(got, "the base tools are served by https://base.example, as ") != 1 || strings.Count(got, `skill "far" (https://far.example) gets your OPENAI_API_KEY, as `) != 1 || strings.Contains(got, "/KEY") {
		t.Errorf("told: %s", got)
	}
}
